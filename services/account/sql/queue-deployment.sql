WITH new_account AS (
  INSERT INTO account (id, profile_image_url, created_at, updated_at)
  VALUES (:accountId::uuid, :profileImageUrl, :now, :now)
  ON CONFLICT DO NOTHING)
INSERT INTO deployment AS d (account_id, chain_name, user_key_algorithm, user_key, state, batch_limit, queued_at,
  traceparent)
VALUES (:accountId::uuid, :chainName, :algorithm, :publicKey, 'queued', :batchLimit, :now, :traceparent)
ON CONFLICT (account_id, chain_name) DO UPDATE SET state = 'queued', queued_at = EXCLUDED.queued_at, creation_id = NULL,
  traceparent = EXCLUDED.traceparent
  WHERE NOT :keepFailed AND d.state = 'failed' AND d.user_key = EXCLUDED.user_key
