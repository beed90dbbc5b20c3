-- Until the end of the migration: what a process of before commits after the copy began would go with the table.
LOCK TABLE "audit_record" IN ACCESS EXCLUSIVE MODE;

-- A batch of records is one row of their canonical texts: a record of its own row cost Postgres, and the signer, several times as much.
CREATE TABLE "audit_batch" (
    "chain_id" UUID NOT NULL,
    "last_sequence" BIGINT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "hashes" BYTEA NOT NULL,
    "texts" TEXT NOT NULL,

    CONSTRAINT "audit_batch_pkey" PRIMARY KEY ("chain_id","last_sequence")
);

-- Mostly hashes: trying to compress them costs more than it saves.
ALTER TABLE "audit_batch" ALTER COLUMN "texts" SET STORAGE EXTERNAL, ALTER COLUMN "hashes" SET STORAGE EXTERNAL;

CREATE INDEX "audit_batch_time_idx" ON "audit_batch" USING BRIN ("time");

-- Records so far. The texts are those that src/audit/record.ts writes, byte for byte: the hashes stay as they are, and tell.
INSERT INTO audit_batch (chain_id, last_sequence, time, hashes, texts)
SELECT chain_id, max(sequence), max(time), string_agg(decode(hash, 'hex'), ''::bytea ORDER BY sequence),
  string_agg('["countersign-audit-1","' || chain_id || '","' || sequence || '","'
    || to_char(time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '",' || to_json(caller) || ','
    || to_json(account_id) || ',' || to_json(session_id) || ',' || to_json(operation) || ',' || to_json(chain_name) || ','
    || to_json(message_hash) || ',' || to_json(script_hash) || ',' || to_json(verdict) || ',' || to_json(policy_version) || ','
    || key_version || ',' || to_json(previous_hash) || ']', E'\n' ORDER BY sequence)
FROM audit_record GROUP BY chain_id, (sequence - 1) / 64;

DROP TABLE "audit_record";

-- Each record as a row, for whoever looks something up: ask for a time of the batch as well (audit_batch.time is at the end of its records), which has an index.
CREATE VIEW audit_record AS
SELECT b.chain_id, (f.fields ->> 2)::bigint AS sequence, (f.fields ->> 3)::timestamptz(3) AS time, f.fields ->> 4 AS caller,
  f.fields ->> 5 AS account_id, f.fields ->> 6 AS session_id, f.fields ->> 7 AS operation, f.fields ->> 8 AS chain_name,
  f.fields ->> 9 AS message_hash, f.fields ->> 10 AS script_hash, f.fields ->> 11 AS verdict, f.fields ->> 12 AS policy_version,
  (f.fields ->> 13)::int AS key_version, f.fields ->> 14 AS previous_hash,
  encode(substr(b.hashes, (32 * (t.place - 1) + 1)::int, 32), 'hex') AS hash, t.text, b.time AS batch_time
FROM audit_batch b
CROSS JOIN LATERAL string_to_table(b.texts, E'\n') WITH ORDINALITY AS t(text, place)
CROSS JOIN LATERAL (SELECT t.text::jsonb OFFSET 0) AS f(fields);
