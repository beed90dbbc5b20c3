-- AlterTable
ALTER TABLE "time_lock" ADD COLUMN "contested_since" TIMESTAMPTZ(3);
UPDATE "time_lock" SET "contested_since" = "started_at";
ALTER TABLE "time_lock" ALTER COLUMN "contested_since" SET NOT NULL;
