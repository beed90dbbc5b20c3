-- CreateTable
CREATE TABLE "account_app" (
    "account_id" UUID NOT NULL,
    "app_id" TEXT NOT NULL,

    CONSTRAINT "account_app_pkey" PRIMARY KEY ("account_id","app_id")
);
