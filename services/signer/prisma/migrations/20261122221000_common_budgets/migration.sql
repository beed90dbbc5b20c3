-- For the metrics: without it they pass over a window of every account that signed in the last hour.
CREATE INDEX "budget_usage_common" ON "budget_usage" ("ends_at")
    WHERE "budget" NOT LIKE 'account/%' AND "budget" NOT LIKE 'open/%';
