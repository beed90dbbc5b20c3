-- CreateTable
CREATE TABLE "ephemeral_use" (
    "request_id" UUID NOT NULL,
    "operation" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "ephemeral_use_pkey" PRIMARY KEY ("request_id","operation")
);

-- CreateIndex
CREATE INDEX "ephemeral_use_updated_at_idx" ON "ephemeral_use"("updated_at");
