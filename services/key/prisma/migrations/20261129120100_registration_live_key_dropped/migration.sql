-- registration_one_live has taken its place.
DROP INDEX CONCURRENTLY "registration_live_key";
