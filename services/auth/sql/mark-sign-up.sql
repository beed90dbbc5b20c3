-- Steps of a sign-up, and with the last one the end and its event. The row is locked first, so that of two
-- marks at once one sees the other.
WITH held AS (
  SELECT account_id, chain_name, completed_at,
    coalesce(deployed_at, :deployedAt::timestamptz) AS deployed_at,
    coalesce(key_registered_at, :keyRegisteredAt::timestamptz) AS key_registered_at,
    coalesce(device_registered_at, :deviceRegisteredAt::timestamptz) AS device_registered_at
  FROM sign_up WHERE account_id = :accountId::uuid AND chain_name = :chainName FOR UPDATE),
marked AS (
  UPDATE sign_up AS s SET deployed_at = held.deployed_at, key_registered_at = held.key_registered_at,
    device_registered_at = held.device_registered_at,
    completed_at = CASE WHEN held.deployed_at IS NOT NULL AND held.key_registered_at IS NOT NULL
      AND held.device_registered_at IS NOT NULL THEN coalesce(held.completed_at, :now::timestamptz) END
  FROM held WHERE s.account_id = :accountId::uuid AND s.chain_name = :chainName
  RETURNING held.completed_at IS NULL AND s.completed_at IS NOT NULL AS completes)
INSERT INTO outbox (id, subject, payload, created_at, account_id)
SELECT :eventId::uuid, :subject, :payload, :now, :accountId::uuid FROM marked WHERE completes
