WITH new_account AS (
  INSERT INTO account (id, profile_image_url, created_at, updated_at)
  VALUES (:accountId::uuid, '', :now, :now)
  ON CONFLICT DO NOTHING)
-- One that nobody asked for yet is cancelled too: a request may be on its way.
INSERT INTO deployment AS d (account_id, chain_name, user_key_algorithm, user_key, state, batch_limit, queued_at)
VALUES (:accountId::uuid, :chainName, :algorithm, :publicKey, 'cancelled', 1, :now)
-- After a failed creation nothing is on chain. Assigning one locks its row.
ON CONFLICT (account_id, chain_name) DO UPDATE SET state = 'cancelled' WHERE d.state IN ('queued', 'failed')
