-- device_one_live has taken its place.
DROP INDEX CONCURRENTLY "device_live_key";
