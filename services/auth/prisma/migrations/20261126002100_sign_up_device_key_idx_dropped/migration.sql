-- sign_up_device_key_hash has taken its place.
DROP INDEX CONCURRENTLY "sign_up_device_key_idx";
