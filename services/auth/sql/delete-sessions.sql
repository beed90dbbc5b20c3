-- Deletes sessions that ended or expired. Rules ask about them later: former_session keeps the answers, and
-- account_app the apps that an erasure must reach.
WITH deleted AS (
  DELETE FROM session WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM session WHERE coalesce(ended_at, expires_at) < :before::timestamptz
    ORDER BY coalesce(ended_at, expires_at) LIMIT :limit::int FOR UPDATE SKIP LOCKED))
  RETURNING account_id, device_key, device_key_algorithm, account_key, account_key_algorithm, scope, created_at,
    app_id),
apps AS (
  INSERT INTO account_app (account_id, app_id)
  SELECT DISTINCT account_id, app_id FROM deleted
  WHERE NOT EXISTS (SELECT FROM sign_up AS s WHERE s.account_id = deleted.account_id AND s.app_id = deleted.app_id)
  ORDER BY 1, 2 ON CONFLICT DO NOTHING),
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
