-- AlterTable
ALTER TABLE "challenge" ALTER COLUMN "auth_time" DROP NOT NULL;

-- AlterTable
ALTER TABLE "session" ALTER COLUMN "auth_time" DROP NOT NULL;

-- AlterTable
ALTER TABLE "two_factor_sign_in" ALTER COLUMN "auth_time" DROP NOT NULL;
