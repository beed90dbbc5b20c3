-- CreateTable
CREATE TABLE "account_lock" (
    "account_id" UUID NOT NULL,

    CONSTRAINT "account_lock_pkey" PRIMARY KEY ("account_id")
);
