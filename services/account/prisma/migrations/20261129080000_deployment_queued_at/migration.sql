-- Queued deployments from the oldest on: ended ones have no entry, of which there are as many as accounts.
CREATE INDEX CONCURRENTLY "deployment_queued_at" ON "deployment" ("chain_name", "queued_at") WHERE "state" = 'queued';
