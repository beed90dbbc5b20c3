-- One statement, one snapshot: with two, a deployment could complete in between and be returned without
-- addresses.
SELECT a.id, a.profile_image_url, a.created_at, a.updated_at,
  (SELECT coalesce(json_agg(json_build_object('chainName', chain_name, 'chainType', chain_type, 'address', address,
      'chainId', chain_id) ORDER BY chain_name, chain_type), '[]')
    FROM address WHERE account_id = :accountId::uuid) AS addresses,
  (SELECT coalesce(json_agg(json_build_object('chainName', chain_name, 'chainType', 'cadence', 'address', address,
      'chainId', chain_id) ORDER BY chain_name, address), '[]')
    FROM parent WHERE account_id = :accountId::uuid) AS parents,
  d.state, d.user_key_algorithm, d.user_key, d.last_error, c.transaction_id
FROM account AS a
LEFT JOIN deployment AS d ON d.account_id = a.id AND d.account_id = :accountId::uuid AND d.chain_name = :chainName
LEFT JOIN creation AS c ON c.id = d.creation_id
WHERE a.id = :accountId::uuid
