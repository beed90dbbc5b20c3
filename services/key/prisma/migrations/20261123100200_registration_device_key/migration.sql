-- Finds an account by a key, for an administrator.
CREATE INDEX CONCURRENTLY "registration_device_key_idx" ON "registration"("device_key");
