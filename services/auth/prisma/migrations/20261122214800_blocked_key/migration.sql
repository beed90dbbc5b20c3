-- CreateTable
CREATE TABLE "blocked_key" (
    "account_id" UUID NOT NULL,
    "algorithm" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3),

    CONSTRAINT "blocked_key_pkey" PRIMARY KEY ("account_id","algorithm","public_key")
);

-- CreateIndex
CREATE INDEX "blocked_key_ending" ON "blocked_key"("until") WHERE (until IS NOT NULL);

-- Blocked keys were only in the token state, for ever. Services forget them two hours after this migration.
INSERT INTO "blocked_key" ("account_id", "algorithm", "public_key", "until")
SELECT split_part("subject", '/', 1)::uuid, split_part("subject", '/', 2), split_part("subject", '/', 3), "until"
FROM "token_state_entry" WHERE "kind" = 'key' AND "active";

-- All services refuse the tokens of these sessions. From now on a session with a key that is blocked for good
-- has ended.
UPDATE "session" AS s SET "ended_at" = now(), "ended_cause" = 'device-removed'
FROM "blocked_key" AS b
WHERE s."ended_at" IS NULL AND b."until" IS NULL AND b."account_id" = s."account_id"
  AND ((b."algorithm" = s."device_key_algorithm" AND b."public_key" = s."device_key")
    OR (b."algorithm" = s."account_key_algorithm" AND b."public_key" = s."account_key"));

UPDATE "token_state_entry" SET "until" = now() + interval '2 hours'
WHERE "kind" = 'key' AND "active" AND "until" IS NULL;
