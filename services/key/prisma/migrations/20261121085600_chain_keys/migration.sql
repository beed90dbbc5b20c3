-- AlterTable
ALTER TABLE "registration" ADD COLUMN     "kind" TEXT NOT NULL DEFAULT 'user',
ADD COLUMN     "weight" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "cloud_account_name" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "pending_until" TIMESTAMPTZ(3),
ADD COLUMN     "alert_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "left_account" (
    "account_id" UUID NOT NULL,
    "left_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "left_account_pkey" PRIMARY KEY ("account_id")
);

-- CreateIndex
CREATE INDEX "registration_alert" ON "registration"("alert_at") WHERE (alert_at IS NOT NULL);
