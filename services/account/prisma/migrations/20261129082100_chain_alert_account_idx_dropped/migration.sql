-- chain_alert_account_id_raised_at_idx has taken its place.
DROP INDEX CONCURRENTLY "chain_alert_account_id_idx";
