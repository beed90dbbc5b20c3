-- The outbox keeps waiting events only, and writers wake the publisher in their own process. Copying those is
-- quicker than deleting a week of published rows.
DROP TRIGGER "outbox_notify" ON "outbox";
DROP FUNCTION "notify_outbox"();
CREATE TEMPORARY TABLE "waiting" AS
  SELECT "id", "subject", "payload", "created_at" FROM "outbox" WHERE "published_at" IS NULL;
TRUNCATE "outbox";
ALTER TABLE "outbox" DROP COLUMN "published_at";
INSERT INTO "outbox" ("id", "subject", "payload", "created_at") SELECT * FROM "waiting";
DROP TABLE "waiting";
