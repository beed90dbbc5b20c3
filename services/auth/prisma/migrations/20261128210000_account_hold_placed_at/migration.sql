-- The newest hold of an account that has very many: its next one comes after it.
CREATE INDEX CONCURRENTLY "account_hold_account_id_placed_at_idx" ON "account_hold"("account_id", "placed_at");
