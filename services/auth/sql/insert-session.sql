WITH free AS (
  SELECT 1 WHERE NOT EXISTS (
    SELECT 1 FROM token_state_entry WHERE kind = 'key' AND subject = ANY(:keys::text[]) AND active
      AND (until IS NULL OR until > :createdAt::timestamptz))),
replaced AS (
  UPDATE session SET ended_at = :createdAt::timestamptz, ended_cause = 'replaced' FROM free
  WHERE account_id = :accountId::uuid AND app_id = :appId AND device_key = :deviceKey
    AND device_key_algorithm = :deviceKeyAlgorithm AND ended_at IS NULL
  RETURNING id, last_used_at),
taken AS (
  INSERT INTO token_state_entry (kind, subject, active, until, txid)
  SELECT 'session', id::text, true, :endedUntil::timestamptz, pg_current_xact_id()::text::bigint FROM replaced
  WHERE last_used_at > :tokenSince::timestamptz
  ON CONFLICT (kind, subject) DO UPDATE SET active = true, until = EXCLUDED.until, txid = EXCLUDED.txid),
begun AS (
  INSERT INTO session (id, account_id, app_id, app_name, device_key_algorithm, device_key, account_key_algorithm, account_key,
    auth_time, created_at, last_used_at, expires_at, refresh_id, refresh_expires_at, proof_required, scope)
  SELECT :id::uuid, :accountId::uuid, :appId, :appName, :deviceKeyAlgorithm, :deviceKey,
    :accountKeyAlgorithm, :accountKey, :authTime::timestamptz, :createdAt::timestamptz,
    :lastUsedAt::timestamptz, :expiresAt::timestamptz, :refreshId::uuid,
    :refreshExpiresAt::timestamptz, :proofRequired, :scope
  -- Counting makes it wait for the UPDATE in `replaced`: there is one live session of a device and app
  -- (unique index).
  FROM free, (SELECT count(*) FROM replaced) AS first RETURNING id)
INSERT INTO outbox (id, subject, payload, created_at)
SELECT :endedEventId::uuid, :endedSubject, :endedBeforeId::bytea || convert_to(id::text, 'UTF8') || :endedAfterId::bytea,
  :createdAt::timestamptz FROM replaced
UNION ALL
SELECT :createdEventId::uuid, :createdSubject, :createdPayload::bytea, :createdAt::timestamptz FROM begun
