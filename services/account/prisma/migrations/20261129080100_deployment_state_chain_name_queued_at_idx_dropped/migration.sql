-- deployment_queued_at has taken its place.
DROP INDEX CONCURRENTLY "deployment_state_chain_name_queued_at_idx";
