-- The live sessions of accounts whose access no other transaction has locked; this one locks both. So a batch
-- that begins sessions leaves these accounts out, and does not wait for their sessions.
WITH free AS MATERIALIZED (
  SELECT account_id FROM account_access WHERE account_id = ANY(:accountIds::uuid[]) FOR UPDATE SKIP LOCKED)
SELECT id, account_id AS "accountId", app_id AS "appId", app_name AS "appName",
  device_key_algorithm AS "deviceKeyAlgorithm", device_key AS "deviceKey",
  account_key_algorithm AS "accountKeyAlgorithm", account_key AS "accountKey", auth_time AS "authTime",
  created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt",
  refresh_id AS "refreshId", refresh_expires_at AS "refreshExpiresAt",
  previous_refresh_id AS "previousRefreshId", rotated_at AS "rotatedAt", proof_required AS "proofRequired", scope
FROM session WHERE account_id = ANY(:accountIds::uuid[]) AND id = ANY(:ids::uuid[]) AND ended_at IS NULL
  AND account_id IN (SELECT account_id FROM free)
FOR UPDATE SKIP LOCKED
