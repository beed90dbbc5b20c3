-- device_one_live has taken its place.
DROP INDEX CONCURRENTLY "device_account_id_idx";
