-- CreateTable
CREATE TABLE "added_key" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "key_x" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "algorithm" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "first_signed_at" TIMESTAMPTZ(3) NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "added_key_pkey" PRIMARY KEY ("account_id","chain_name","key_x")
);
