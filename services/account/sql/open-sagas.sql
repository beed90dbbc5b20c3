-- The unfinished work of a chain by kind and state, with the age of the oldest. Each part reads an index.
SELECT 'deployment' AS saga, 'queued' AS state, count(*)::int AS count,
  coalesce(extract(epoch FROM now() - min(queued_at)), 0)::float8 AS oldest
FROM (SELECT queued_at FROM deployment WHERE state = 'queued' AND chain_name = :chainName
  ORDER BY queued_at LIMIT 10000) AS queued
UNION ALL
SELECT 'creation', 'assigned', count(*)::int, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8
FROM (SELECT created_at FROM creation WHERE state = 'assigned' AND chain_name = :chainName
  ORDER BY lease_until LIMIT 10000) AS assigned
UNION ALL
SELECT 'creation', 'signed', count(*)::int, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8
FROM (SELECT created_at FROM creation WHERE state = 'signed' AND chain_name = :chainName
  ORDER BY lease_until LIMIT 10000) AS signed
UNION ALL
SELECT 'server-key-rotation', 'submitted', count(*)::int,
  coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8
FROM (SELECT created_at FROM server_key_rotation WHERE state = 'submitted' AND chain_name = :chainName
  ORDER BY created_at LIMIT 10000) AS submitted
