-- CreateTable
CREATE TABLE "revoked_key" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "key_x" TEXT NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "revoked_key_pkey" PRIMARY KEY ("account_id", "chain_name", "key_x")
);
