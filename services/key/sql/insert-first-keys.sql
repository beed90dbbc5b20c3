-- As insert-first-key.sql, of many accounts. Leaves out all but one key of an account. In the order of the
-- accounts, so that replicas do not deadlock. Returns the events' ids.
WITH wanted AS MATERIALIZED (
  SELECT DISTINCT ON (account_id) * FROM unnest(:id::uuid[], :accountId::uuid[], :chainName::text[], :appId::text[],
    :appName::text[], :type::text[], :accountAlgorithm::text[], :accountKey::text[], :deviceAlgorithm::text[],
    :deviceKey::text[], :name::text[], :keyIndex::int[], :origin::text[], :createdAt::timestamptz[], :eventId::uuid[],
    :subject::text[], :payload::bytea[])
    AS w(id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key, device_algorithm,
      device_key, name, key_index, origin, created_at, event_id, subject, payload)
  ORDER BY account_id),
first AS (
  INSERT INTO account_lock (account_id) SELECT account_id FROM wanted ORDER BY account_id
  ON CONFLICT DO NOTHING RETURNING account_id),
registered AS (
  INSERT INTO registration (id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key,
    device_algorithm, device_key, name, key_index, origin, created_at)
  SELECT id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key, device_algorithm,
    device_key, name, key_index, origin, created_at
  FROM wanted JOIN first USING (account_id)
  WHERE account_id NOT IN (SELECT r.account_id FROM registration r WHERE r.account_id = ANY(:accountId::uuid[]))
  RETURNING account_id)
INSERT INTO outbox (id, subject, payload, created_at, account_id)
SELECT event_id, subject, payload, created_at, account_id FROM wanted JOIN registered USING (account_id)
RETURNING id
