-- An account's sign-up on a chain, with the names of Prisma.
SELECT account_id AS "accountId", chain_name AS "chainName", app_id AS "appId", app_name AS "appName",
  user_key_type AS "userKeyType", account_key_algorithm AS "accountKeyAlgorithm", account_key AS "accountKey",
  device_key_algorithm AS "deviceKeyAlgorithm", device_key AS "deviceKey", device_attributes AS "deviceAttributes",
  device_id AS "deviceId", session_id AS "sessionId", profile_image_url AS "profileImageUrl",
  deployed_at AS "deployedAt", key_registered_at AS "keyRegisteredAt", device_registered_at AS "deviceRegisteredAt",
  lease_until AS "leaseUntil", created_at AS "createdAt", EXISTS (
    SELECT FROM sign_up AS o WHERE o.account_id = :accountId::uuid AND o.chain_name <> :chainName
      AND o.completed_at IS NOT NULL) AS "isOnOtherChain"
FROM sign_up WHERE account_id = :accountId::uuid AND chain_name = :chainName
