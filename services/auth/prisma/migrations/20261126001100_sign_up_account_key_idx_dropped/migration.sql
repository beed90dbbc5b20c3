-- sign_up_account_key_hash has taken its place.
DROP INDEX CONCURRENTLY "sign_up_account_key_idx";
