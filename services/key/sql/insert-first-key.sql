-- An account's first key, with its event: no other key can be in its way. Inserting the account's lock
-- decides: where the row is there, another transaction registers or has registered keys, and nothing changes.
WITH first AS (
  INSERT INTO account_lock (account_id) VALUES (:accountId::uuid) ON CONFLICT DO NOTHING RETURNING 1),
registered AS (
  INSERT INTO registration (id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key,
    device_algorithm, device_key, name, key_index, origin, created_at)
  SELECT :id::uuid, :accountId::uuid, :chainName, :appId, :appName, :type, :accountAlgorithm, :accountKey,
    :deviceAlgorithm, :deviceKey, :name, :keyIndex::int, :origin, :createdAt::timestamptz
  FROM first WHERE NOT EXISTS (SELECT FROM registration WHERE account_id = :accountId::uuid) RETURNING 1)
INSERT INTO outbox (id, subject, payload, created_at, account_id)
SELECT :eventId::uuid, :subject, :payload, :createdAt::timestamptz, :accountId::uuid FROM registered
