-- AlterTable
ALTER TABLE "budget_reservation" ADD COLUMN "count" INTEGER NOT NULL DEFAULT 1;
