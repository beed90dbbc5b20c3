-- Unfinished sign-ups: finished ones have no entry, of which there are as many as accounts.
CREATE INDEX CONCURRENTLY "sign_up_open" ON "sign_up" ("lease_until") WHERE "completed_at" IS NULL;
