-- Unfinished sign-ups by chain and state, with the age of the oldest; not those that were given up, whose
-- lease never ends.
SELECT chain.name AS chain, 'sign-up' AS saga, step.state, count(open.created_at)::int AS count,
  coalesce(extract(epoch FROM now() - min(open.created_at)), 0)::float8 AS oldest
FROM unnest(:chains::text[]) AS chain (name)
CROSS JOIN (VALUES ('deploying'), ('registering')) AS step (state)
LEFT JOIN (
  SELECT chain_name, created_at, CASE WHEN deployed_at IS NULL THEN 'deploying' ELSE 'registering' END AS state
  FROM sign_up WHERE completed_at IS NULL AND lease_until < now() + interval '1 day'
  ORDER BY lease_until LIMIT 10000) AS open ON open.chain_name = chain.name AND open.state = step.state
GROUP BY chain.name, step.state
