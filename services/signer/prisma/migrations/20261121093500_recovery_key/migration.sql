-- CreateTable
CREATE TABLE "recovery_key" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "algorithm" TEXT NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "recovery_key_pkey" PRIMARY KEY ("account_id","chain_name","public_key")
);
