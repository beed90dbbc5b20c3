import type { ServiceName } from "@countersign/build/paths.ts";

// The traffic of a month as one statement per table. $1: its beginning, $2: the number of accounts, $3: its
// number from 0. Times are spread over 28 days. The next month's first sign-in replaces a session.

/** The rates of the statements below. */
export const RATES =
  "per account and month: 2 sign-ins, 2 signatures of template and paymaster, 2 notices, 2 addresses; per account and year: 1 new device and 1 request that nobody approved";

const AT = "$1::timestamptz + (a.i * 7919 % 2419200) * interval '1 s' / 2 + u.n * interval '14 days'";
const ACCOUNTS = "generate_series(1, $2::int) a(i)";
const TWICE = `${ACCOUNTS}, generate_series(0, 1) u(n), LATERAL (SELECT ${AT} AS at, md5('account' || a.i)::uuid AS account) t`;
/** A twelfth of the accounts, another one each month. */
const TWELFTH = `${TWICE} WHERE a.i % 12 = $3::int`;
/** The device that an account has this month; it gets another one once a year. */
const DEVICE = "md5('device' || a.i || ($3::int >= a.i % 12))";
const OTHER = "gen_random_uuid()";

type Traffic = Partial<Record<ServiceName, readonly string[]>>;

/** The statements of a month. */
export const TRAFFIC: Traffic = {
  auth: [
    `UPDATE session SET ended_at = $1::timestamptz + interval '1 s', ended_cause = 'replaced'
      WHERE ended_at IS NULL AND $2::int > 0 AND $3::int >= 0`,
    `INSERT INTO session (id, account_id, app_id, app_name, device_key_algorithm, device_key, account_key_algorithm,
        account_key, created_at, last_used_at, expires_at, refresh_id, refresh_expires_at, ended_at, ended_cause)
      SELECT ${OTHER}, account, 'wallet', 'Wallet', 'ES256', ${DEVICE}, 'ES256', ${DEVICE}, at, at,
        at + interval '180 days', ${OTHER}, at + interval '30 days',
        CASE WHEN u.n = 0 THEN at + interval '14 days' END, CASE WHEN u.n = 0 THEN 'replaced' ELSE '' END FROM ${TWICE}`,
    `INSERT INTO challenge (data, type, account_id, chain_name, app_id, app_name, expires_at)
      SELECT md5(${OTHER}::text), 'device-key', account, 'flow-mainnet', 'wallet', 'Wallet', at + interval '5 minutes'
      FROM ${TWICE} WHERE $3::int >= 0`,
    `INSERT INTO exchanged_code (code_hash, binding, keys, profile, expires_at)
      SELECT md5(${OTHER}::text), 'b', '{k}', '{}', at + interval '10 minutes' FROM ${TWICE} WHERE $3::int >= 0`,
    `INSERT INTO used_idempotency_key (id, fingerprint, account_id, created_at)
      SELECT md5(${OTHER}::text), 'f', account, at FROM ${TWELFTH}`,
    `INSERT INTO rate_limit (key, points, expire)
      SELECT md5(${OTHER}::text), 1, (extract(epoch FROM at) * 1000)::bigint FROM ${TWICE} WHERE $3::int >= 0`,
    `INSERT INTO two_factor_sign_in (id, account_id, chain_name, app_id, app_name, account_key_algorithm, account_key,
        device_key_algorithm, device_key, device_attributes, token_id, created_at, expires_at, transaction_id, enrolled_at)
      SELECT ${OTHER}, account, 'flow-mainnet', 'wallet', 'Wallet', 'ES256', ${DEVICE}, 'ES256', ${DEVICE}, '{}', ${OTHER},
        at, at + interval '5 minutes', CASE WHEN u.n = 0 THEN 'tx' END, CASE WHEN u.n = 0 THEN at END FROM ${TWELFTH}`,
  ],
  device: [
    `INSERT INTO device (id, account_id, algorithm, public_key, push_token, name, os_name, os_version,
        device_manufacturer, device_model, lang, type, sdk_version, created_at, last_used_at)
      SELECT ${OTHER}, account, 'ES256', ${DEVICE}, '', '', '', '', '', '', '', 'mobile', '', at, at
      FROM ${TWELFTH} AND u.n = 0`,
    `INSERT INTO two_factor (id, account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm,
        account_key, device_key_algorithm, device_key, device, email, ip, location, src_device_id, status, message_id,
        message, requested_at, expires_at, wrong_approvals)
      SELECT md5('request' || a.i || '/' || u.n || '/' || $3::int)::uuid, account, 'flow-mainnet', 'wallet', 'Wallet',
        'device', 'ES256', ${DEVICE}, 'ES256', ${DEVICE}, '{}', 'a@example.com', '127.0.0.1', '', ${OTHER},
        CASE WHEN u.n = 0 THEN 'finished' ELSE 'expired' END, ${OTHER}, '\\x00', at, at + interval '5 minutes', 0
      FROM ${TWELFTH}`,
    `INSERT INTO two_factor_message (message_id, two_factor_id, message, created_at)
      SELECT ${OTHER}, md5('request' || a.i || '/' || u.n || '/' || $3::int)::uuid, '\\x00', at FROM ${TWELFTH}`,
    `INSERT INTO delivery (event_id, target, account_id, kind, created_at)
      SELECT ${OTHER}, 'notice', account, 'new-sign-in', at FROM ${TWICE} WHERE $3::int >= 0`,
  ],
  account: [
    `INSERT INTO creation (id, chain_name, key_index, account_ids, server_keys, transaction, state, lease_owner,
        lease_until, created_at)
      SELECT ${OTHER}, 'flow-mainnet', 0, ARRAY[account], '{}', to_jsonb(repeat('x', 4000)),
        CASE WHEN u.n = 0 THEN 'sealed' ELSE 'failed' END, ${OTHER}, at, at FROM ${TWELFTH}`,
    `INSERT INTO key_addition (attempt_id, account_id, chain_name, user_key_algorithm, user_key, state, transaction, created_at)
      SELECT ${OTHER}, account, 'flow-mainnet', 'ES256', ${DEVICE}, 'sealed', to_jsonb(repeat('x', 4000)), at
      FROM ${TWELFTH} AND u.n = 0`,
  ],
  signer: [
    `INSERT INTO signature_count (account_id, minute, count)
      SELECT account, date_trunc('minute', at), 2 FROM ${TWICE} WHERE $3::int >= 0`,
    `INSERT INTO ephemeral_use (request_id, operation, count, updated_at)
      SELECT ${OTHER}, 'transaction', 1, at FROM ${TWELFTH} AND u.n = 0`,
    `INSERT INTO budget_usage (chain_name, budget, ends_at, count, computation, fees)
      SELECT 'flow-mainnet', 'account/' || account || '/3600/' || (extract(epoch FROM at)::bigint / 3600),
        date_trunc('hour', at) + interval '1 hour', 1, 100, 10000 FROM ${TWICE} WHERE $3::int >= 0`,
    `INSERT INTO budget_reservation (chain_name, proposal, reference_block, count, computation, fees, budgets, renewed_at,
        settled_at, added_count, added_computation, added_fees)
      SELECT 'flow-mainnet', account || '/0/' || ($3::int * 2 + u.n), md5(account::text), 1, 100, 10000,
        ARRAY['account/' || account || '/3600/0', 'service/all/3600/0'], at, at, 1, 100, 10000 FROM ${TWICE}`,
    `INSERT INTO signed_template (account_id, chain_name, key_index, number, signed_at, session_id)
      SELECT account, 'flow-mainnet', 0, $3::int * 2 + u.n, at, ${OTHER} FROM ${TWICE}`,
  ],
};

/** Tables that may grow, by docs/scaling.md: with accounts, keys, devices, or all signatures ever. */
export const GROWING = new Set([
  "former_session",
  "two_factor_sign_in",
  "device",
  "audit_chain",
  "audit_batch",
  "audit_checkpoint",
  "audit_checkpoint_head",
  "outbox",
]);
