-- The next batch of a chain, however many deployments wait.
CREATE INDEX CONCURRENTLY "deployment_queued" ON "deployment" ("chain_name", "batch_limit", "queued_at") WHERE "state" = 'queued';
