-- registration_one_live has taken its place.
DROP INDEX CONCURRENTLY "registration_account_id_created_at_idx";
