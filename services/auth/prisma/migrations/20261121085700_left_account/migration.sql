-- CreateTable
CREATE TABLE "left_account" (
    "account_id" UUID NOT NULL,
    "left_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "left_account_pkey" PRIMARY KEY ("account_id")
);
