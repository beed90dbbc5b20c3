-- AlterTable
ALTER TABLE "idempotency_claim" ADD COLUMN "result_id" UUID;

-- CreateTable
CREATE TABLE "two_factor_sign_in" (
    "id" UUID NOT NULL,
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "app_name" TEXT NOT NULL,
    "user_key_algorithm" TEXT NOT NULL,
    "user_key" TEXT NOT NULL,
    "device_key_algorithm" TEXT NOT NULL,
    "device_key" TEXT NOT NULL,
    "device_attributes" JSONB NOT NULL,
    "token_id" UUID NOT NULL,
    "auth_time" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "transaction_id" TEXT,
    "transaction_ref_url" TEXT,
    "admitted_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "two_factor_sign_in_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "frozen_account" (
    "account_id" UUID NOT NULL,
    "device_key_algorithm" TEXT NOT NULL,
    "device_key" TEXT NOT NULL,
    "frozen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "frozen_account_pkey" PRIMARY KEY ("account_id")
);

-- CreateIndex
CREATE INDEX "two_factor_sign_in_account_id_user_key_idx" ON "two_factor_sign_in"("account_id", "user_key");

-- CreateIndex
CREATE INDEX "two_factor_sign_in_account_id_device_key_idx" ON "two_factor_sign_in"("account_id", "device_key");

-- CreateIndex
CREATE INDEX "two_factor_sign_in_expires_at_idx" ON "two_factor_sign_in"("expires_at");
