-- Finds an account by a key, for an administrator.
CREATE INDEX CONCURRENTLY "registration_account_key_idx" ON "registration"("account_key");
