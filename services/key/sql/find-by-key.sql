-- The active registrations of each query, which names an account key or a device key.
SELECT q.at::int AS at, r.id, r.account_id AS "accountId", r.chain_name AS "chainName", app_id AS "appId",
  app_name AS "appName", type, account_algorithm AS "accountAlgorithm", account_key AS "accountKey",
  device_algorithm AS "deviceAlgorithm", device_key AS "deviceKey", key_index AS "keyIndex", origin, kind, weight, name,
  created_at AS "createdAt", last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", pending_until AS "pendingUntil",
  alert_at AS "alertAt", cloud_account_name AS "cloudAccountName"
FROM unnest(:accountIds::uuid[], :chainNames::text[], :algorithms::text[], :publicKeys::text[]) WITH ORDINALITY
  AS q(account_id, chain_name, algorithm, public_key, at)
JOIN registration AS r ON r.account_id = q.account_id AND r.chain_name = q.chain_name
WHERE r.account_id = ANY(:accountIds::uuid[]) AND r.revoked_at IS NULL
  AND ((account_algorithm = q.algorithm AND account_key = q.public_key)
    OR (device_algorithm = q.algorithm AND device_key = q.public_key))
ORDER BY created_at, id
