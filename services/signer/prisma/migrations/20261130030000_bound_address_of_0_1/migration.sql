-- Bindings that version 0.1 wrote beside a newer version get their rows. The binding decides: its address is
-- unique. Where the table is distributed they have them.
DO $$ BEGIN
  IF to_regclass('pg_dist_partition') IS NOT NULL THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'bound_address'::regclass) THEN
      RETURN;
    END IF;
  END IF;
  INSERT INTO bound_address (chain_name, address, account_id)
  SELECT chain_name, address, account_id FROM binding AS b
  WHERE NOT EXISTS (SELECT FROM bound_address AS a
    WHERE a.chain_name = b.chain_name AND a.address = b.address AND a.account_id = b.account_id)
  ON CONFLICT (chain_name, address) DO UPDATE SET account_id = EXCLUDED.account_id;
END $$;
