-- registration_device_key_hash has taken its place.
DROP INDEX CONCURRENTLY "registration_device_key_idx";
