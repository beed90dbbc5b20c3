-- Finds a person by e-mail, for an administrator.
CREATE INDEX CONCURRENTLY "identity_email" ON "identity" (lower("email"));
