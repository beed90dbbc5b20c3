-- AlterTable
ALTER TABLE "two_factor_message" ADD COLUMN     "account_id" UUID;
