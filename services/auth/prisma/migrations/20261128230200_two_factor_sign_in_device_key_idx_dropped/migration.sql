-- two_factor_sign_in_account_id_transaction_id_idx has taken its place.
DROP INDEX CONCURRENTLY "two_factor_sign_in_account_id_device_key_idx";
