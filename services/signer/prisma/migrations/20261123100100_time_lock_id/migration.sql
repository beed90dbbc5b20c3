-- Finds an account by a time lock, for an administrator.
CREATE INDEX CONCURRENTLY "time_lock_id_idx" ON "time_lock"("id");
