-- Sign-ins of one device left several live sessions of one app: the newest stays. Services learn of the end of the others as of any
-- other: their access tokens live for 15 minutes at most.
WITH ended AS (
  UPDATE "session" AS s SET "ended_at" = now(), "ended_cause" = 'replaced'
  WHERE s."ended_at" IS NULL AND EXISTS (
    SELECT 1 FROM "session" AS newer
    WHERE newer."account_id" = s."account_id" AND newer."app_id" = s."app_id" AND newer."device_key" = s."device_key"
      AND newer."device_key_algorithm" = s."device_key_algorithm" AND newer."ended_at" IS NULL
      AND (newer."created_at", newer."id") > (s."created_at", s."id"))
  RETURNING s."id")
INSERT INTO "token_state_entry" ("kind", "subject", "active", "until", "txid")
SELECT 'session', "id"::text, true, now() + interval '16 minutes', pg_current_xact_id()::text::bigint FROM ended
ON CONFLICT ("kind", "subject") DO UPDATE SET "active" = true, "until" = EXCLUDED."until", "txid" = EXCLUDED."txid";

-- CreateIndex
CREATE UNIQUE INDEX "session_one_live" ON "session"("account_id", "app_id", "device_key", "device_key_algorithm") WHERE (ended_at IS NULL);
