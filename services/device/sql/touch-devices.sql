-- Moves the last use of live devices forward. Returns when each was registered, in the order of the uses;
-- null where there is no live device with the key.
WITH use AS (
  SELECT * FROM unnest(:accountIds::uuid[], :algorithms::text[], :keys::text[], :usedAt::timestamptz[]) WITH ORDINALITY
    AS u(account_id, algorithm, public_key, used_at, at)),
touched AS (
  UPDATE device AS d SET last_used_at = use.used_at FROM use
  WHERE d.account_id = ANY(:accountIds::uuid[]) AND d.account_id = use.account_id AND d.algorithm = use.algorithm
    AND d.public_key = use.public_key AND d.removed_at IS NULL AND d.last_used_at < use.used_at)
SELECT (SELECT max(d.created_at) FROM device AS d WHERE d.account_id = ANY(:accountIds::uuid[]) AND d.account_id = use.account_id
    AND d.algorithm = use.algorithm AND d.public_key = use.public_key AND d.removed_at IS NULL) AS "registeredAt"
FROM use ORDER BY at
