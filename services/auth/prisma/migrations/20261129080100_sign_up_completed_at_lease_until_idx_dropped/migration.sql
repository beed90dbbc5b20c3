-- sign_up_open has taken its place.
DROP INDEX CONCURRENTLY "sign_up_completed_at_lease_until_idx";
