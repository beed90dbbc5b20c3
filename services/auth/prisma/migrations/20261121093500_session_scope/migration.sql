-- AlterTable
ALTER TABLE "session" ADD COLUMN     "scope" TEXT NOT NULL DEFAULT 'full';
