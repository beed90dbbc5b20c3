-- AlterTable
ALTER TABLE "deployment" ADD COLUMN     "traceparent" TEXT NOT NULL DEFAULT '';
