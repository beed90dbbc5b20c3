-- Returns a page of the token state that begins after (bucket, position, kind, subject): the changes since
-- the positions in `since`, or without them the whole state. One row for each kind of entry, each with the
-- page's end: a driver takes longer for 200,000 rows than Postgres does.
WITH page AS MATERIALIZED (
  -- Freezes that were lifted belong to the whole state: what was signed before them may still run.
  (SELECT bucket, position, kind, subject, active, until FROM token_state_entry
    WHERE :since::bigint[] IS NULL AND (active OR kind = 'account')
      AND (bucket, position, kind, subject) > (:bucket::int, :position::bigint, :kind::text, :subject::text)
    ORDER BY bucket, position, kind, subject LIMIT :most::int)
  UNION ALL
  -- Bucket by bucket from its position on: a plain join reads all entries of each bucket that has changed.
  (SELECT t.bucket, t.position, t.kind, t.subject, t.active, t.until
    FROM token_state_head AS h
    CROSS JOIN LATERAL (
      SELECT e.bucket, e.position, e.kind, e.subject, e.active, e.until FROM token_state_entry AS e
      WHERE e.bucket = h.bucket AND e.position > (:since::bigint[])[h.bucket + 1]
        AND (e.bucket, e.position, e.kind, e.subject) > (:bucket::int, :position::bigint, :kind::text, :subject::text)
      ORDER BY e.position, e.kind, e.subject LIMIT :most::int) AS t
    WHERE h.bucket >= :bucket::int AND h.position > (:since::bigint[])[h.bucket + 1]
    ORDER BY t.bucket, t.position, t.kind, t.subject LIMIT :most::int)),
last AS (
  SELECT bucket, position, kind, subject FROM page
  ORDER BY bucket DESC, position DESC, kind DESC, subject DESC LIMIT 1)
SELECT list.*, to_json(last) AS end
FROM last CROSS JOIN (
  -- Packed as auth.v1.TokenStateSubjects has it.
  SELECT kind, active, count(*)::int AS count, encode(string_agg(
      uuid_send(left(subject, 36)::uuid)
        || CASE kind WHEN 'key' THEN decode(
            -- An algorithm that is not known here is an error: string_agg would leave out NULL.
            CASE split_part(subject, '/', 2)
              WHEN 'ES256' THEN '01' WHEN 'ES256K' THEN '02' WHEN 'EdDSA' THEN '03' ELSE 'unknown' END
              || rpad(split_part(subject, '/', 3), 128, '0'), 'hex')
          ELSE '' END
        || float8send(coalesce(date_part('epoch', until) * 1000, 'Infinity')), ''), 'base64') AS packed
  FROM page GROUP BY kind, active) AS list
