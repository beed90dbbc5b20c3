-- Finds an account by a key, for an administrator: a quarter of the size of an ordered index.
CREATE INDEX CONCURRENTLY "registration_account_key_hash" ON "registration" USING HASH ("account_key");
