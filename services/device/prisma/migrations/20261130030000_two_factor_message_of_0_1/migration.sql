-- Messages that version 0.1 wrote get the account of their request. Where the table is distributed they have
-- it, and no statement may change it.
DO $$ BEGIN
  IF to_regclass('pg_dist_partition') IS NOT NULL THEN
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'two_factor_message'::regclass) THEN
      RETURN;
    END IF;
  END IF;
  UPDATE two_factor_message AS m SET account_id = t.account_id FROM two_factor AS t
  WHERE t.id = m.two_factor_id AND m.account_id IS NULL;
END $$;
