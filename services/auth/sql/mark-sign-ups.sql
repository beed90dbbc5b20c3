-- As mark-sign-up.sql, of many sign-ups. Leaves out those that another transaction has locked, and of each
-- sign-up all marks but one. Returns the events' ids of the others, also of those that are no sign-up's last.
-- Rows are found one by one: a plan that was made while the table was small would read it whole for all.
WITH marks AS MATERIALIZED (
  SELECT DISTINCT ON (account_id, chain_name) *
  FROM unnest(:accountId::uuid[], :chainName::text[], :deployedAt::timestamptz[], :keyRegisteredAt::timestamptz[],
    :deviceRegisteredAt::timestamptz[], :now::timestamptz[], :eventId::uuid[], :subject::text[], :payload::bytea[])
    AS m(account_id, chain_name, deployed_at, key_registered_at, device_registered_at, marked_at, event_id, subject,
      payload)
  ORDER BY account_id, chain_name),
held AS (
  SELECT h.* FROM marks AS m CROSS JOIN LATERAL (
    SELECT account_id, chain_name, completed_at, deployed_at, key_registered_at, device_registered_at FROM sign_up AS s
    WHERE s.account_id = m.account_id AND s.chain_name = m.chain_name FOR UPDATE SKIP LOCKED) AS h),
steps AS (
  SELECT account_id, chain_name, completed_at, marked_at, event_id, subject, payload,
    coalesce(held.deployed_at, marks.deployed_at) AS deployed_at,
    coalesce(held.key_registered_at, marks.key_registered_at) AS key_registered_at,
    coalesce(held.device_registered_at, marks.device_registered_at) AS device_registered_at
  FROM held JOIN marks USING (account_id, chain_name)),
marked AS (
  UPDATE sign_up AS s SET deployed_at = steps.deployed_at, key_registered_at = steps.key_registered_at,
    device_registered_at = steps.device_registered_at,
    completed_at = CASE WHEN steps.deployed_at IS NOT NULL AND steps.key_registered_at IS NOT NULL
      AND steps.device_registered_at IS NOT NULL THEN coalesce(steps.completed_at, steps.marked_at) END
  FROM steps WHERE s.account_id = ANY(:accountId::uuid[]) AND s.account_id = steps.account_id
    AND s.chain_name = steps.chain_name
  RETURNING s.account_id, marked_at, event_id, subject, payload,
    steps.completed_at IS NULL AND s.completed_at IS NOT NULL AS completes),
published AS (
  INSERT INTO outbox (id, subject, payload, created_at, account_id)
  SELECT event_id, subject, payload, marked_at, account_id FROM marked WHERE completes)
SELECT event_id AS id FROM marked
