-- Begins sessions of several accounts, one of each, and returns what became of each. Accounts whose access
-- another transaction has locked are left out. A session may answer a challenge, with the counter of a
-- passkey or without.
--
-- A function: its second statement must see all that was committed before the first one had its locks, and
-- both together take one round trip. Its plans read no table as a whole: they were made while the tables were
-- small.
CREATE FUNCTION begin_sessions(members json, max_attempts int, ended_for interval, last_token interval)
RETURNS TABLE (session_id uuid, outcome text) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  locked uuid[];
BEGIN
locked := ARRAY(
  SELECT account_id FROM account_access
  WHERE account_id = ANY(ARRAY(SELECT (m.session).account_id FROM json_to_recordset(members) AS m(session session)))
  FOR UPDATE SKIP LOCKED);
RETURN QUERY
WITH member AS MATERIALIZED (
  SELECT * FROM json_to_recordset(members) AS m(session session, challenge text, sign_count bigint,
    created outbox, ended outbox, ended_id_at int)
  WHERE (m.session).account_id = ANY(locked)),
-- Tables that grow are read by arrays of keys: a join may read a whole index while their statistics are old.
blocked AS (
  SELECT * FROM blocked_key WHERE account_id = ANY(ARRAY(SELECT (session).account_id FROM member))),
gone AS (
  SELECT account_id FROM left_account WHERE account_id = ANY(ARRAY(SELECT (session).account_id FROM member))),
free AS (
  SELECT m.* FROM member AS m WHERE NOT EXISTS (
    SELECT FROM blocked AS b
    WHERE b.account_id = (m.session).account_id AND (b.until IS NULL OR b.until > (m.session).created_at)
      AND (b.algorithm, b.public_key) IN (((m.session).device_key_algorithm, (m.session).device_key),
        ((m.session).account_key_algorithm, (m.session).account_key)))
    AND (m.session).account_id NOT IN (SELECT account_id FROM gone)),
live AS (
  SELECT data FROM challenge
  WHERE data = ANY(ARRAY(SELECT challenge FROM free WHERE sign_count IS NOT NULL)) AND attempts < max_attempts),
-- A counter that has not grown is of a copy, or of an answer that was overtaken.
counted AS (
  INSERT INTO passkey_counter AS c (account_id, public_key, sign_count, updated_at)
  SELECT (session).account_id, (session).account_key, sign_count, (session).created_at FROM free
  WHERE sign_count IS NOT NULL AND challenge IN (SELECT data FROM live)
  ON CONFLICT (account_id, public_key) DO UPDATE SET sign_count = EXCLUDED.sign_count, updated_at = EXCLUDED.updated_at
    WHERE c.sign_count < EXCLUDED.sign_count OR (c.sign_count = 0 AND EXCLUDED.sign_count = 0)
  RETURNING account_id),
used AS (
  DELETE FROM challenge
  WHERE data = ANY(ARRAY(SELECT challenge FROM free
      WHERE sign_count IS NULL OR (session).account_id IN (SELECT account_id FROM counted)))
    AND attempts < max_attempts
  RETURNING data),
opening AS MATERIALIZED (
  SELECT * FROM free WHERE challenge IS NULL OR challenge IN (SELECT data FROM used)),
replaced AS (
  -- A session without a cause has not ended. With `ended_at IS NULL` the whole partial index could be read.
  UPDATE session SET ended_at = (SELECT max((o.session).created_at) FROM opening AS o), ended_cause = 'replaced'
  WHERE ended_cause = '' AND id = ANY(ARRAY(
    SELECT former.id FROM opening AS o CROSS JOIN LATERAL (
      SELECT id FROM session AS s
      WHERE s.account_id = (o.session).account_id AND s.app_id = (o.session).app_id
        AND s.device_key = (o.session).device_key AND s.device_key_algorithm = (o.session).device_key_algorithm
        AND s.ended_at IS NULL
      LIMIT 1) AS former))
  RETURNING id, account_id, last_used_at, ended_at),
-- A session whose last access token has expired needs no entry. The heads are locked after everything else
-- and have positions as in store/write-token-state.ts.
taken AS (
  SELECT get_byte(uuid_send(account_id), 15) AS bucket, id, ended_at FROM replaced
  WHERE last_used_at > ended_at - last_token),
head AS (
  INSERT INTO token_state_head AS h (bucket, position)
  SELECT DISTINCT bucket, (date_part('epoch', statement_timestamp()) * 1000)::bigint FROM taken ORDER BY bucket
  ON CONFLICT (bucket) DO UPDATE SET position = greatest(h.position + 1, EXCLUDED.position)
  RETURNING bucket, position),
sent AS (
  INSERT INTO token_state_entry (bucket, kind, subject, active, until, position)
  SELECT bucket, 'session', id::text, true, ended_at + ended_for, position
  FROM taken JOIN head USING (bucket)
  ON CONFLICT DO NOTHING),
begun AS (
  -- Counting makes it wait for the UPDATE in `replaced`: there is one live session of a device and app
  -- (unique index).
  INSERT INTO session SELECT (session).* FROM opening, (SELECT count(*) FROM replaced) AS first RETURNING id),
events AS (
  INSERT INTO outbox (id, subject, payload, created_at)
  SELECT (created).id, (created).subject, (created).payload, (created).created_at FROM opening
  UNION ALL
  SELECT (ended).id, (ended).subject, overlay((ended).payload PLACING convert_to(id::text, 'UTF8') FROM ended_id_at),
    (ended).created_at FROM replaced JOIN opening AS o ON (o.session).account_id = replaced.account_id)
SELECT (m.session).id, CASE
  WHEN begun.id IS NOT NULL THEN 'begun'
  WHEN NOT EXISTS (SELECT FROM free WHERE (free.session).id = (m.session).id) THEN 'blocked'
  WHEN m.challenge IN (SELECT data FROM live) THEN 'old-counter'
  ELSE 'used' END AS outcome
FROM member AS m LEFT JOIN begun ON begun.id = (m.session).id;
END
$$;
