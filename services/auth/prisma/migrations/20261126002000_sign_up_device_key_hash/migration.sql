-- Finds an account by a key, for an administrator: a quarter of the size of an ordered index.
CREATE INDEX CONCURRENTLY "sign_up_device_key_hash" ON "sign_up" USING HASH ("device_key");
