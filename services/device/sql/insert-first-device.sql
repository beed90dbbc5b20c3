-- An account's first device, with its event: no other device can be in its way. Inserting the account's lock
-- decides: where the row is there, another transaction changes or has changed devices, and nothing changes.
WITH first AS (
  INSERT INTO account_lock (account_id) VALUES (:accountId::uuid) ON CONFLICT DO NOTHING RETURNING 1),
registered AS (
  INSERT INTO device (id, account_id, algorithm, public_key, push_token, name, os_name, os_version,
    device_manufacturer, device_model, lang, type, sdk_version, created_at, last_used_at)
  SELECT :id::uuid, :accountId::uuid, :algorithm, :publicKey, :pushToken, :name, :osName, :osVersion,
    :deviceManufacturer, :deviceModel, :lang, :type, :sdkVersion, :createdAt::timestamptz, :lastUsedAt::timestamptz
  FROM first WHERE NOT EXISTS (SELECT FROM device WHERE account_id = :accountId::uuid)
  ON CONFLICT DO NOTHING RETURNING 1)
INSERT INTO outbox (id, subject, payload, created_at, account_id)
SELECT :eventId::uuid, :subject, :payload, :createdAt::timestamptz, :accountId::uuid FROM registered
