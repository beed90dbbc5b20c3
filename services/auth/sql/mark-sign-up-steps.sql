-- Steps of sign-ups, and with the last one of a sign-up its end and its event. The rows are locked first, so
-- that of two marks at once one sees the other; in their order, so that replicas do not deadlock.
WITH taken AS MATERIALIZED (
  SELECT * FROM unnest(:accountId::uuid[], :chainName::text[], :deployedAt::timestamptz[],
    :keyRegisteredAt::timestamptz[], :deviceRegisteredAt::timestamptz[], :now::timestamptz[], :eventId::uuid[],
    :subject::text[], :payload::bytea[])
    AS t(account_id, chain_name, deployed_at, key_registered_at, device_registered_at, now, event_id, subject, payload)),
held AS (
  SELECT account_id, chain_name, completed_at, deployed_at, key_registered_at, device_registered_at FROM sign_up
  WHERE account_id = ANY(:accountId::uuid[]) AND (account_id, chain_name) IN (SELECT account_id, chain_name FROM taken)
  ORDER BY account_id, chain_name FOR UPDATE),
steps AS (
  SELECT account_id, chain_name, completed_at, now, coalesce(held.deployed_at, taken.deployed_at) AS deployed_at,
    coalesce(held.key_registered_at, taken.key_registered_at) AS key_registered_at,
    coalesce(held.device_registered_at, taken.device_registered_at) AS device_registered_at
  FROM held JOIN taken USING (account_id, chain_name)),
marked AS (
  UPDATE sign_up AS s SET deployed_at = steps.deployed_at, key_registered_at = steps.key_registered_at,
    device_registered_at = steps.device_registered_at,
    completed_at = CASE WHEN steps.deployed_at IS NOT NULL AND steps.key_registered_at IS NOT NULL
      AND steps.device_registered_at IS NOT NULL THEN coalesce(steps.completed_at, steps.now) END
  FROM steps WHERE s.account_id = ANY(:accountId::uuid[]) AND s.account_id = steps.account_id
    AND s.chain_name = steps.chain_name
  RETURNING s.account_id, s.chain_name, steps.completed_at IS NULL AND s.completed_at IS NOT NULL AS completes)
INSERT INTO outbox (id, subject, payload, created_at, account_id)
SELECT event_id, subject, payload, now, account_id FROM taken JOIN marked USING (account_id, chain_name) WHERE completes
