-- The keys of an account's devices, except a request's, that have one of two keys, on any chain.
SELECT DISTINCT account_key_algorithm AS "accountKeyAlgorithm", account_key AS "accountKey",
  device_key_algorithm AS "deviceKeyAlgorithm", device_key AS "deviceKey"
FROM (
  SELECT account_key_algorithm, account_key, device_key_algorithm, device_key, created_at AS at
  FROM session WHERE account_id = :accountId::uuid AND scope = 'full'
  UNION ALL
  SELECT account_key_algorithm, account_key, device_key_algorithm, device_key, first_full_at
  FROM former_session WHERE account_id = :accountId::uuid
  UNION ALL
  SELECT account_key_algorithm, account_key, device_key_algorithm, device_key, enrolled_at
  FROM two_factor_sign_in
  WHERE account_id = :accountId::uuid AND transaction_id IS NOT NULL AND id IS DISTINCT FROM :exceptId::uuid
  UNION ALL
  SELECT account_key_algorithm, account_key, device_key_algorithm, device_key, device_registered_at
  FROM sign_up WHERE account_id = :accountId::uuid) AS device
WHERE at IS NOT NULL
  AND (account_key IN (:accountKey, :deviceKey) OR device_key IN (:accountKey, :deviceKey))
