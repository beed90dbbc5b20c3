-- CreateTable
CREATE TABLE "signed_creation" (
    "account_id" UUID NOT NULL,
    "chain_name" TEXT NOT NULL,
    "server_key_version" INTEGER NOT NULL,
    "signed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "signed_creation_pkey" PRIMARY KEY ("account_id", "chain_name", "server_key_version")
);
