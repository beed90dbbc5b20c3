-- Signed again, the number is as recent as this signature, and this session's.
INSERT INTO signed_template AS t (account_id, chain_name, key_index, number, signed_at, session_id)
VALUES (:accountId::uuid, :chainName, :keyIndex::int, :number::bigint, :signedAt::timestamptz, :sessionId::uuid)
ON CONFLICT (account_id, chain_name, key_index, number)
  DO UPDATE SET signed_at = greatest(t.signed_at, EXCLUDED.signed_at), session_id = EXCLUDED.session_id,
    kept_at = CASE WHEN t.signed_at <= :unfrozenAt::timestamptz THEN t.signed_at ELSE t.kept_at END
