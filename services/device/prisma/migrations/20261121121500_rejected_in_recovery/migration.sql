-- AlterTable
ALTER TABLE "two_factor" ADD COLUMN "rejected_in_recovery" BOOLEAN NOT NULL DEFAULT false;
