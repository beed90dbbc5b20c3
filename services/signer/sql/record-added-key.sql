INSERT INTO added_key AS k
  (account_id, chain_name, key_x, public_key, algorithm, source, approver_x, first_signed_at, signed_at)
VALUES (:accountId::uuid, :chainName, :keyX, :publicKey, :algorithm, :source, :approverX, :now, :now)
ON CONFLICT (account_id, chain_name, key_x) DO UPDATE SET
  source = CASE WHEN k.source = 'device' THEN EXCLUDED.source ELSE k.source END,
  -- A recovery key's addition is renewable from its own beginning, also where a device had approved the key.
  first_signed_at = CASE WHEN k.first_signed_at > :renewableSince::timestamptz
      AND NOT (k.source = 'device' AND EXCLUDED.source = 'recovery')
    THEN k.first_signed_at ELSE EXCLUDED.first_signed_at END,
  signed_at = greatest(k.signed_at, EXCLUDED.signed_at)
WHERE k.first_signed_at > :renewableSince::timestamptz OR EXCLUDED.source = 'recovery'
  OR k.first_signed_at >= :approverSince::timestamptz
