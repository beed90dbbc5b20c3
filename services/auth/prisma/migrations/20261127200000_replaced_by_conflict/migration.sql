-- Begins sessions, one after the other, and returns what became of each. Accounts whose access another
-- transaction has locked are left out. A session may answer a challenge, with the counter of a passkey or
-- without. Or it begins once: neither again, nor where its device has begun another one of the app after
-- asked_at, but for the session asked_by. It is dated when its key was read, perhaps before one that it
-- replaces.
--
-- The event of a session names the session that it replaces: one event instead of two. Replicas of the
-- version before lock the access of a session that begins once themselves. On a database of several nodes
-- each statement is about one shard. A statement sees all that was committed before it, so also before the
-- account's lock was taken. Its plans read no table as a whole: they were made while the tables were small.
CREATE OR REPLACE FUNCTION begin_each_session(
  members json, max_attempts int, ended_for interval, last_token interval)
RETURNS TABLE (session_id uuid, outcome text) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  m record;
  s session;
  account uuid;
  created outbox;
  former record;
  sent record;
  taken json[] := '{}';
  reached bigint;
  waits text := current_setting('lock_timeout');
  is_first boolean;
BEGIN
FOR m IN SELECT * FROM json_to_recordset(members) AS t(
  session session, challenge text, sign_count bigint, created outbox, replaced_id_at int,
  once boolean, asked_at timestamptz, asked_by uuid)
LOOP
  s := m.session;
  account := s.account_id;
  PERFORM FROM account_access WHERE account_id = account FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    -- The account's first lock makes the row. Another transaction that makes it is waited for shortly: it may
    -- wait for an account of this batch.
    BEGIN
      PERFORM set_config('lock_timeout', '20ms', true);
      INSERT INTO account_access (account_id) VALUES (account) ON CONFLICT DO NOTHING RETURNING true INTO is_first;
      PERFORM set_config('lock_timeout', waits, true);
    EXCEPTION WHEN lock_not_available THEN
      is_first := false;
    END;
    CONTINUE WHEN is_first IS NOT TRUE;
  END IF;
  session_id := s.id;

  IF m.once THEN
    PERFORM FROM session AS b
    WHERE b.account_id = account AND (b.id = s.id OR b.app_id = s.app_id AND b.created_at > m.asked_at
      AND b.device_key = s.device_key AND b.device_key_algorithm = s.device_key_algorithm
      AND b.id IS DISTINCT FROM m.asked_by);
    IF FOUND THEN
      outcome := 'begun-before';
      RETURN NEXT;
      CONTINUE;
    END IF;
  END IF;

  PERFORM FROM blocked_key AS b
  WHERE b.account_id = account AND (b.until IS NULL OR b.until > s.created_at)
    AND (b.algorithm, b.public_key) IN (
      (s.device_key_algorithm, s.device_key), (s.account_key_algorithm, s.account_key));
  IF NOT FOUND THEN
    PERFORM FROM left_account AS l WHERE l.account_id = account;
  END IF;
  IF FOUND THEN
    outcome := 'blocked';
    RETURN NEXT;
    CONTINUE;
  END IF;

  IF m.challenge IS NOT NULL AND m.sign_count IS NOT NULL THEN
    PERFORM FROM challenge AS c WHERE c.data = m.challenge AND c.attempts < max_attempts;
    IF FOUND THEN
      -- A counter that has not grown is of a copy, or of an answer that was overtaken.
      INSERT INTO passkey_counter AS c (account_id, public_key, sign_count, updated_at)
      VALUES (account, s.account_key, m.sign_count, s.created_at)
      ON CONFLICT (account_id, public_key) DO UPDATE
        SET sign_count = EXCLUDED.sign_count, updated_at = EXCLUDED.updated_at
        WHERE c.sign_count < EXCLUDED.sign_count OR (c.sign_count = 0 AND EXCLUDED.sign_count = 0);
      IF NOT FOUND THEN
        outcome := 'old-counter';
        RETURN NEXT;
        CONTINUE;
      END IF;
    END IF;
  END IF;
  IF m.challenge IS NOT NULL THEN
    DELETE FROM challenge AS c WHERE c.data = m.challenge AND c.attempts < max_attempts;
    IF NOT FOUND THEN
      outcome := 'used';
      RETURN NEXT;
      CONTINUE;
    END IF;
  END IF;

  created := m.created;
  -- There is one live session of a device and app (unique index). It is found by the conflict, which always
  -- uses this index. The plan of a search may use the one of ends, whose dead entries no search removes.
  INSERT INTO session AS live VALUES (s.*)
  ON CONFLICT (account_id, app_id, device_key, device_key_algorithm) WHERE ended_at IS NULL DO UPDATE
    SET ended_at = greatest(EXCLUDED.created_at, live.created_at), ended_cause = 'replaced'
  RETURNING live.id, live.last_used_at, live.ended_at INTO former;
  IF former.ended_at IS NOT NULL THEN
    INSERT INTO session VALUES (s.*);
    created.payload := overlay(created.payload PLACING convert_to(former.id::text, 'UTF8') FROM m.replaced_id_at);
    -- A session whose last access token has expired needs no entry.
    IF former.last_used_at > s.created_at - last_token THEN
      taken := taken || json_build_object('bucket', get_byte(uuid_send(account), 15), 'id', former.id,
        'until', s.created_at + ended_for);
    END IF;
  END IF;
  INSERT INTO outbox (id, subject, payload, created_at, account_id)
  VALUES (created.id, created.subject, created.payload, created.created_at, account);
  outcome := 'begun';
  RETURN NEXT;
END LOOP;

-- The heads are locked after everything else, in the order of the buckets, and have positions as in
-- store/write-token-state.ts.
FOR sent IN SELECT * FROM json_to_recordset(array_to_json(taken)) AS t(bucket smallint, id uuid, until timestamptz)
  ORDER BY t.bucket
LOOP
  INSERT INTO token_state_head AS h (bucket, position)
  VALUES (sent.bucket, (date_part('epoch', statement_timestamp()) * 1000)::bigint)
  ON CONFLICT (bucket) DO UPDATE SET position = greatest(h.position + 1, EXCLUDED.position)
  RETURNING h.position INTO reached;
  INSERT INTO token_state_entry (bucket, kind, subject, active, until, position)
  VALUES (sent.bucket, 'session', sent.id::text, true, sent.until, reached)
  ON CONFLICT DO NOTHING;
END LOOP;
END
$$;
