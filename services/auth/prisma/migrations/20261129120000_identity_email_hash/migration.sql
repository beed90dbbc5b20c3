-- Finds an account by an e-mail address, for an administrator: smaller than an ordered index.
CREATE INDEX CONCURRENTLY "identity_email_hash" ON "identity" USING HASH (lower("email"));
