-- AlterTable
ALTER TABLE "audit_chain" ADD COLUMN     "closed_in" BIGINT,
ADD COLUMN     "closed_size" BIGINT;

-- No process writes into a closed chain, of whichever version it is.
ALTER TABLE "audit_chain" ADD CONSTRAINT "audit_chain_closed" CHECK ("closed_size" = "head_sequence");

CREATE INDEX "audit_chain_open" ON "audit_chain" ("id") WHERE "closed_in" IS NULL;

-- CreateTable
CREATE TABLE "audit_checkpoint_lock" (
    "id" INTEGER NOT NULL,

    CONSTRAINT "audit_checkpoint_lock_pkey" PRIMARY KEY ("id")
);

INSERT INTO "audit_checkpoint_lock" VALUES (1);
