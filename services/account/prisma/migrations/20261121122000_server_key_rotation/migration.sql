-- CreateTable
CREATE TABLE "server_key_rotation" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "new_key" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "transaction" JSONB NOT NULL,
    "transaction_id" TEXT NOT NULL,
    "reference_height" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "server_key_rotation_pkey" PRIMARY KEY ("account_id","chain_name","version")
);

CREATE INDEX "server_key_rotation_open" ON "server_key_rotation" ("created_at") WHERE "state" = 'submitted';
