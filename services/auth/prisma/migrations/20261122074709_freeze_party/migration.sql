-- AlterTable
ALTER TABLE "frozen_account" ADD COLUMN     "by_recovery_key" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "freeze_party" (
    "account_id" UUID NOT NULL,
    "party" TEXT NOT NULL,
    "joined_at" TIMESTAMPTZ(3),
    "request_id" UUID,
    "asked_at" TIMESTAMPTZ(3),
    "available_at" TIMESTAMPTZ(3),
    "lapses_at" TIMESTAMPTZ(3),

    CONSTRAINT "freeze_party_pkey" PRIMARY KEY ("account_id","party")
);
