-- The alerts of the last minute of an account that has very many: it gets few in one.
CREATE INDEX CONCURRENTLY "chain_alert_account_id_raised_at_idx" ON "chain_alert"("account_id", "raised_at");
