-- AlterTable
ALTER TABLE "two_factor" ADD COLUMN     "opened_in_recovery" BOOLEAN NOT NULL DEFAULT false;
