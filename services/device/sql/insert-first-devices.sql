-- As insert-first-device.sql, of many accounts. Leaves out all but one device of an account. In the order of
-- the accounts, so that replicas do not deadlock. Returns the events' ids.
WITH wanted AS MATERIALIZED (
  SELECT DISTINCT ON (account_id) * FROM unnest(:id::uuid[], :accountId::uuid[], :algorithm::text[], :publicKey::text[],
    :pushToken::text[], :name::text[], :osName::text[], :osVersion::text[], :deviceManufacturer::text[],
    :deviceModel::text[], :lang::text[], :type::text[], :sdkVersion::text[], :createdAt::timestamptz[],
    :lastUsedAt::timestamptz[], :eventId::uuid[], :subject::text[], :payload::bytea[])
    AS w(id, account_id, algorithm, public_key, push_token, name, os_name, os_version, device_manufacturer,
      device_model, lang, type, sdk_version, created_at, last_used_at, event_id, subject, payload)
  ORDER BY account_id),
first AS (
  INSERT INTO account_lock (account_id) SELECT account_id FROM wanted ORDER BY account_id
  ON CONFLICT DO NOTHING RETURNING account_id),
registered AS (
  INSERT INTO device (id, account_id, algorithm, public_key, push_token, name, os_name, os_version,
    device_manufacturer, device_model, lang, type, sdk_version, created_at, last_used_at)
  SELECT id, account_id, algorithm, public_key, push_token, name, os_name, os_version, device_manufacturer,
    device_model, lang, type, sdk_version, created_at, last_used_at
  FROM wanted JOIN first USING (account_id)
  WHERE account_id NOT IN (SELECT d.account_id FROM device d WHERE d.account_id = ANY(:accountId::uuid[]))
  ON CONFLICT DO NOTHING RETURNING account_id)
INSERT INTO outbox (id, subject, payload, created_at, account_id)
SELECT event_id, subject, payload, created_at, account_id FROM wanted JOIN registered USING (account_id)
RETURNING id
