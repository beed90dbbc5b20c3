-- AlterTable
ALTER TABLE "challenge" ALTER COLUMN "signer_algorithm" DROP NOT NULL,
ALTER COLUMN "signer" DROP NOT NULL;

-- AlterTable
ALTER TABLE "two_factor_sign_in" ADD COLUMN     "user_key_type" TEXT NOT NULL DEFAULT 'device';

-- CreateTable
CREATE TABLE "passkey_counter" (
    "account_id" UUID NOT NULL,
    "public_key" TEXT NOT NULL,
    "sign_count" BIGINT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "passkey_counter_pkey" PRIMARY KEY ("account_id","public_key")
);
