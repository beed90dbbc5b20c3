-- The live devices of accounts, of each the last one used first.
SELECT id, account_id AS "accountId", algorithm, public_key AS "publicKey", push_token AS "pushToken", name,
  os_name AS "osName", os_version AS "osVersion", device_manufacturer AS "deviceManufacturer",
  device_model AS "deviceModel", lang, type, sdk_version AS "sdkVersion", created_at AS "createdAt",
  last_used_at AS "lastUsedAt", removed_at AS "removedAt"
FROM device WHERE account_id = ANY(:accountIds::uuid[]) AND removed_at IS NULL
ORDER BY last_used_at DESC, id DESC
