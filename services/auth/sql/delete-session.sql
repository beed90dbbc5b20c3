-- As delete-sessions.sql, of one session: on a database of several nodes each is on the shard of its account.
WITH deleted AS (
  DELETE FROM session WHERE account_id = :accountId::uuid AND id = :id::uuid
    AND coalesce(ended_at, expires_at) < :before::timestamptz
  RETURNING account_id, device_key, device_key_algorithm, account_key, account_key_algorithm, scope, created_at)
INSERT INTO former_session AS f
  (account_id, device_key, device_key_algorithm, account_key, account_key_algorithm, first_full_at)
SELECT account_id, device_key, device_key_algorithm, account_key, account_key_algorithm,
  CASE WHEN scope = 'full' THEN created_at END
FROM deleted
ON CONFLICT (account_id, device_key, device_key_algorithm, account_key, account_key_algorithm)
  DO UPDATE SET first_full_at = least(f.first_full_at, EXCLUDED.first_full_at)
