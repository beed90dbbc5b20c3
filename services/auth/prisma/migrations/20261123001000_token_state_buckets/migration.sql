-- CreateTable
CREATE TABLE "token_state_head" (
    "bucket" SMALLINT NOT NULL,
    "position" BIGINT NOT NULL,

    CONSTRAINT "token_state_head_pkey" PRIMARY KEY ("bucket")
);

INSERT INTO "token_state_head" ("bucket", "position") SELECT bucket, 1 FROM generate_series(0, 255) AS bucket;

-- AlterTable
ALTER TABLE "token_state_entry" DROP CONSTRAINT "token_state_entry_pkey",
ADD COLUMN "bucket" SMALLINT,
ADD COLUMN "position" BIGINT NOT NULL DEFAULT 1;

-- A session's entry is in the bucket of its account. Where that is unknown, any bucket will do.
UPDATE "token_state_entry" AS e SET "bucket" = get_byte(uuid_send(CASE "kind"
  WHEN 'session' THEN coalesce((SELECT "account_id" FROM "session" WHERE "id" = e."subject"::uuid),
    (SELECT "account_id" FROM "two_factor_sign_in" WHERE "id" = e."subject"::uuid), e."subject"::uuid)
  WHEN 'account' THEN e."subject"::uuid
  ELSE split_part(e."subject", '/', 1)::uuid END), 15);

-- DropIndex
DROP INDEX "token_state_entry_txid_kind_subject_idx";

-- AlterTable
ALTER TABLE "token_state_entry" ALTER COLUMN "bucket" SET NOT NULL,
ALTER COLUMN "position" DROP DEFAULT,
DROP COLUMN "txid",
ADD CONSTRAINT "token_state_entry_pkey" PRIMARY KEY ("bucket", "kind", "subject");

-- CreateIndex
CREATE INDEX "token_state_entry_bucket_position_idx" ON "token_state_entry"("bucket", "position");

-- An account that has left begins no session from now on. The entry ends with the tokens of those that a
-- sign-in began at the time at which it left.
UPDATE "session" SET "ended_at" = now(), "ended_cause" = 'account-left'
WHERE "ended_at" IS NULL AND "account_id" IN (SELECT "account_id" FROM "left_account");

UPDATE "token_state_entry" AS e SET "until" = now() + interval '2 hours'
FROM "left_account" AS l WHERE e."kind" = 'account' AND e."subject" = l."account_id"::text AND e."active";
