SELECT id, account_id AS "accountId", chain_name AS "chainName", app_id AS "appId", app_name AS "appName", type,
  account_algorithm AS "accountAlgorithm", account_key AS "accountKey", device_algorithm AS "deviceAlgorithm",
  device_key AS "deviceKey", key_index AS "keyIndex", origin, kind, weight, name, created_at AS "createdAt",
  last_used_at AS "lastUsedAt", revoked_at AS "revokedAt", pending_until AS "pendingUntil", alert_at AS "alertAt",
  cloud_account_name AS "cloudAccountName"
FROM registration
WHERE account_id = :accountId::uuid AND chain_name = :chainName AND revoked_at IS NULL
  AND ((account_algorithm = :algorithm AND account_key = :publicKey)
    OR (device_algorithm = :algorithm AND device_key = :publicKey))
ORDER BY created_at, id
