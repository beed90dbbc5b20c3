-- Deletes sessions that ended or expired. Rules ask about them later: former_session keeps the answers.
WITH deleted AS (
  DELETE FROM session WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM session WHERE coalesce(ended_at, expires_at) < :before::timestamptz
    ORDER BY coalesce(ended_at, expires_at) LIMIT :limit::int FOR UPDATE SKIP LOCKED))
  RETURNING account_id, device_key, device_key_algorithm, account_key, account_key_algorithm, scope, created_at),
kept AS (
  INSERT INTO former_session AS f
    (account_id, device_key, device_key_algorithm, account_key, account_key_algorithm, first_full_at)
  SELECT account_id, device_key, device_key_algorithm, account_key, account_key_algorithm,
    min(created_at) FILTER (WHERE scope = 'full')
  FROM deleted GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT (account_id, device_key, device_key_algorithm, account_key, account_key_algorithm)
    DO UPDATE SET first_full_at = least(f.first_full_at, EXCLUDED.first_full_at)
    WHERE f.first_full_at IS DISTINCT FROM least(f.first_full_at, EXCLUDED.first_full_at))
SELECT count(*)::int AS deleted FROM deleted
