-- registration_account_key_hash has taken its place.
DROP INDEX CONCURRENTLY "registration_account_key_idx";
