-- An answered challenge is deleted, not marked.
DELETE FROM "challenge" WHERE "used_at" IS NOT NULL;

-- AlterTable
ALTER TABLE "challenge" DROP COLUMN "used_at";
