-- CreateTable
CREATE TABLE "key_addition" (
    "attempt_id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "user_key_algorithm" TEXT NOT NULL,
    "user_key" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "transaction" JSONB,
    "transaction_id" TEXT NOT NULL DEFAULT '',
    "reference_height" BIGINT NOT NULL DEFAULT 0,
    "key_index" INTEGER NOT NULL DEFAULT -1,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "key_addition_pkey" PRIMARY KEY ("attempt_id")
);

-- CreateIndex
CREATE INDEX "key_addition_account_id_idx" ON "key_addition"("account_id");
