-- Signed again, the number is as recent as this signature, and this session's. Settled budgets show what
-- executed.
INSERT INTO signed_template AS t (account_id, chain_name, key_index, number, signed_at, session_id)
SELECT :accountId::uuid, :chainName, :keyIndex::int, :number::bigint, :signedAt::timestamptz, :sessionId::uuid
WHERE :limit::int > (
  SELECT count(*) FROM signed_template o
  WHERE o.account_id = :accountId::uuid AND o.chain_name = :chainName AND o.key_index = :keyIndex::int
    AND o.session_id = :sessionId::uuid AND o.number <> :number::bigint AND o.signed_at > :openSince::timestamptz
    AND NOT EXISTS (
      SELECT FROM budget_reservation r WHERE r.chain_name = o.chain_name AND r.settled_at IS NOT NULL
        AND r.proposal = :address::text || '/' || o.key_index || '/' || o.number))
ON CONFLICT (account_id, chain_name, key_index, number)
  DO UPDATE SET signed_at = greatest(t.signed_at, EXCLUDED.signed_at), session_id = EXCLUDED.session_id,
    kept_at = CASE WHEN t.signed_at <= :unfrozenAt::timestamptz THEN t.signed_at ELSE t.kept_at END
