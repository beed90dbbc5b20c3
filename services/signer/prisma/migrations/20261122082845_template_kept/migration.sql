-- AlterTable
ALTER TABLE "signed_template" ADD COLUMN     "kept_at" TIMESTAMPTZ(3);
