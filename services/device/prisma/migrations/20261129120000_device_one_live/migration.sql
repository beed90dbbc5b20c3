-- One live device of each key; removed ones have NULL in its place. It finds all devices of an account too.
-- The hash is a quarter of the key's size.
CREATE UNIQUE INDEX CONCURRENTLY "device_one_live" ON "device" ("account_id", (CASE WHEN "removed_at" IS NULL THEN sha256("public_key"::bytea) END));
