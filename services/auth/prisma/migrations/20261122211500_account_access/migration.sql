-- CreateTable
CREATE TABLE "account_access" (
    "account_id" UUID NOT NULL,

    CONSTRAINT "account_access_pkey" PRIMARY KEY ("account_id")
);
