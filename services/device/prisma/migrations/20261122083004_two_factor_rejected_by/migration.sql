-- AlterTable
ALTER TABLE "two_factor" ADD COLUMN     "rejected_by" TEXT;
