WITH change AS (
  SELECT DISTINCT ON (kind, subject) get_byte(uuid_send("accountId"), 15) AS bucket, kind, subject,
    coalesce(active, true) AS active, coalesce(until, now() + "forMs" * interval '1 millisecond') AS until
  FROM json_to_recordset(:changes::json)
    AS c(kind text, "accountId" uuid, subject text, active boolean, until timestamptz, "forMs" bigint)),
head AS (
  INSERT INTO token_state_head AS h (bucket, position)
  SELECT DISTINCT bucket, (date_part('epoch', statement_timestamp()) * 1000)::bigint FROM change ORDER BY bucket
  ON CONFLICT (bucket) DO UPDATE SET position = greatest(h.position + 1, EXCLUDED.position)
  RETURNING bucket, position)
INSERT INTO token_state_entry AS t (bucket, kind, subject, active, until, position)
SELECT bucket, kind, subject, active, until, position FROM change JOIN head USING (bucket)
ON CONFLICT (bucket, kind, subject) DO UPDATE SET active = EXCLUDED.active, position = EXCLUDED.position,
  until = CASE WHEN t.kind = 'key' THEN greatest(t.until, EXCLUDED.until) ELSE EXCLUDED.until END
