-- Accounts, each with its deployment on a chain. One statement, one snapshot: with two, a deployment could
-- complete in between and be returned without addresses. Each table is read by the array of ids: see
-- docs/performance.md.
SELECT q.at::int AS at, a.id, a.profile_image_url, a.created_at, a.updated_at,
  (SELECT coalesce(json_agg(json_build_object('chainName', t.chain_name, 'chainType', t.chain_type,
      'address', t.address, 'chainId', t.chain_id) ORDER BY t.chain_name, t.chain_type), '[]')
    FROM address AS t WHERE t.account_id = a.id AND t.account_id = ANY(:accountIds::uuid[])) AS addresses,
  (SELECT coalesce(json_agg(json_build_object('chainName', t.chain_name, 'chainType', 'cadence',
      'address', t.address, 'chainId', t.chain_id) ORDER BY t.chain_name, t.address), '[]')
    FROM parent AS t WHERE t.account_id = a.id AND t.account_id = ANY(:accountIds::uuid[])) AS parents,
  d.state, d.user_key_algorithm, d.user_key, c.transaction_id
FROM unnest(:accountIds::uuid[], :chainNames::text[]) WITH ORDINALITY AS q(account_id, chain_name, at)
JOIN account AS a ON a.id = q.account_id AND a.id = ANY(:accountIds::uuid[])
LEFT JOIN deployment AS d
  ON d.account_id = a.id AND d.account_id = ANY(:accountIds::uuid[]) AND d.chain_name = q.chain_name
LEFT JOIN creation AS c ON c.id = d.creation_id
