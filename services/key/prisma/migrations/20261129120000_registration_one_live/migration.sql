-- One active registration of each key; revoked ones have NULL in its place. It finds all keys of an account
-- too. The hash is a quarter of the key's size.
CREATE UNIQUE INDEX CONCURRENTLY "registration_one_live" ON "registration" ("account_id", "chain_name", (CASE WHEN "revoked_at" IS NULL THEN sha256("account_key"::bytea) END));
