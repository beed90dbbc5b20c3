-- Counts, reservations, usage, records and head in one statement, so that they commit together with one
-- flush. The lists are JSON texts: the driver takes longer over arrays of columns than the signer over the
-- signatures.
--
-- over_limit() is a function of the migration 20261121124000_budget: it raises CS001, which rolls back the
-- whole statement. It is called where a limit would be passed.
--
-- A request that equals its reservation is skipped without a lock: a second signature over the same message
-- allows no more than the first.
--
-- Rows are locked in the order counts, reservations, usage, each sorted; every other statement that locks
-- several of them uses the same order. The limits are checked by counting, which reads a subquery to its end
-- before the next one begins. A settled reservation with another block or a larger amount is a new one: no
-- window holds anything of it.
WITH counted AS (
  INSERT INTO signature_count AS c (account_id, minute, count)
  SELECT t.id, :minute, t.added
  FROM unnest(:accountIds::uuid[], :counts::int[]) AS t(id, added)
  ON CONFLICT (account_id, minute) DO UPDATE SET count = c.count + EXCLUDED.count
  RETURNING count),
asked AS MATERIALIZED (
  SELECT * FROM json_to_recordset(:asked::json) AS t(
    chain_name text, proposal text, reference_block text, count int, computation bigint, fees bigint, budgets text[])
  WHERE NOT coalesce((
    SELECT t.reference_block = r.reference_block AND t.count <= r.count AND t.computation <= r.computation AND t.fees <= r.fees
    FROM budget_reservation r WHERE r.chain_name = t.chain_name AND r.proposal = t.proposal), false)),
windows AS (
  SELECT * FROM json_to_recordset(:windows::json) AS t(
    chain_name text, budget text, ends_at timestamptz, most_count bigint, most_computation bigint, most_fees bigint)),
-- A reservation that is renewed keeps, only for `charged` below, the budgets that held it before
-- (previous_budgets) and by how much it grew (added_*): those budgets are charged the difference, others all
-- of it, and those that it leaves get back what they held: every budget of a reservation holds its amounts.
reserved AS (
  INSERT INTO budget_reservation AS r (chain_name, proposal, reference_block, count, computation, fees, budgets,
    added_count, added_computation, added_fees)
  SELECT chain_name, proposal, reference_block, count, computation, fees, budgets, count, computation, fees
  FROM asked ORDER BY chain_name, proposal
  ON CONFLICT (chain_name, proposal) DO UPDATE SET
    reference_block = EXCLUDED.reference_block,
    count = CASE WHEN r.settled_at IS NULL THEN greatest(r.count, EXCLUDED.count) ELSE EXCLUDED.count END,
    computation = CASE WHEN r.settled_at IS NULL THEN greatest(r.computation, EXCLUDED.computation) ELSE EXCLUDED.computation END,
    fees = CASE WHEN r.settled_at IS NULL THEN greatest(r.fees, EXCLUDED.fees) ELSE EXCLUDED.fees END,
    budgets = EXCLUDED.budgets,
    previous_budgets = CASE WHEN r.settled_at IS NULL THEN r.budgets ELSE '{}' END,
    added_count = greatest(r.count, EXCLUDED.count) - r.count,
    added_computation = greatest(r.computation, EXCLUDED.computation) - r.computation,
    added_fees = greatest(r.fees, EXCLUDED.fees) - r.fees,
    renewed_at = EXCLUDED.renewed_at, seen_height = NULL, settled_at = NULL
  WHERE EXCLUDED.reference_block <> r.reference_block
    OR EXCLUDED.count > r.count OR EXCLUDED.computation > r.computation OR EXCLUDED.fees > r.fees
  RETURNING chain_name, count, computation, fees, budgets, previous_budgets, added_count, added_computation, added_fees),
charged AS (
  SELECT c.chain_name, c.budget,
    sum(c.count)::bigint AS count, sum(c.computation)::bigint AS computation, sum(c.fees)::bigint AS fees
  FROM (
    SELECT r.chain_name, b.budget,
      CASE WHEN b.budget = ANY (r.previous_budgets) THEN r.added_count ELSE r.count END AS count,
      CASE WHEN b.budget = ANY (r.previous_budgets) THEN r.added_computation ELSE r.computation END AS computation,
      CASE WHEN b.budget = ANY (r.previous_budgets) THEN r.added_fees ELSE r.fees END AS fees
    FROM reserved r CROSS JOIN LATERAL unnest(r.budgets) AS b(budget)
    WHERE r.fees > 0 OR b.budget NOT LIKE 'open/%'
    UNION ALL
    SELECT r.chain_name, b.budget, r.added_count - r.count, r.added_computation - r.computation, r.added_fees - r.fees
    FROM reserved r CROSS JOIN LATERAL unnest(r.previous_budgets) AS b(budget)
    WHERE b.budget <> ALL (r.budgets)) AS c
  GROUP BY c.chain_name, c.budget),
-- A window that is only given back has a row already, unless it was deleted.
ending AS (
  SELECT c.*, coalesce(w.ends_at, (
    SELECT u.ends_at FROM budget_usage u WHERE u.chain_name = c.chain_name AND u.budget = c.budget)) AS ends_at
  FROM charged c LEFT JOIN windows w USING (chain_name, budget)),
used AS (
  INSERT INTO budget_usage AS u (chain_name, budget, ends_at, count, computation, fees)
  SELECT chain_name, budget, ends_at, count, computation, fees
  FROM ending WHERE ends_at IS NOT NULL ORDER BY chain_name, budget
  ON CONFLICT (chain_name, budget) DO UPDATE SET
    count = u.count + EXCLUDED.count, computation = u.computation + EXCLUDED.computation, fees = u.fees + EXCLUDED.fees
  RETURNING chain_name, budget, count, computation, fees),
moved AS (
  UPDATE audit_chain SET head_sequence = :lastSequence, head_hash = :lastHash
  WHERE id = :chainId::uuid AND head_sequence = :headSequence AND head_hash = :headHash
  RETURNING id),
written AS (
  INSERT INTO audit_batch (chain_id, last_sequence, time, hashes, texts, signature)
  SELECT id, :lastSequence, :time, decode(:hashes, 'hex'),
    :texts, decode(:signature, 'hex') FROM moved
  RETURNING 1)
SELECT
  CASE WHEN (SELECT count(*) FROM counted WHERE count > :limit) > 0 THEN over_limit() END,
  CASE WHEN (
    SELECT count(*) FROM used u JOIN charged c USING (chain_name, budget) JOIN windows w USING (chain_name, budget)
    WHERE c.count > 0 AND u.count > w.most_count
      OR c.computation > 0 AND u.computation > w.most_computation
      OR c.fees > 0 AND u.fees > w.most_fees) > 0 THEN over_limit() END,
  EXISTS (SELECT FROM written) AS written
