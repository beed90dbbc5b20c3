import type { ServiceName } from "@countersign/build/paths.ts";

// Accounts and the traffic of a month, as one statement per table. $1: the beginning, $2: the number of
// accounts, $3: the month's number from 0. Times are spread over 28 days. The next month's first sign-in
// replaces a session.

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

/** Few accounts: 83 of 100,000 each month. */
const FEW = "a.i % 1200 = $3::int";
const EACH = `${ACCOUNTS}, LATERAL (SELECT $1::timestamptz AS at, md5('account' || a.i)::uuid AS account) t WHERE $3::int = 0`;
const BUCKET = "get_byte(uuid_send(account), 15)";
const CHAIN = "'flow-mainnet'";

type Statements = Readonly<Record<ServiceName, readonly string[]>>;

/** The rows that an account has all its life, with its first device; inserted at the beginning. */
export const SIGN_UPS: Statements = {
  auth: [
    `INSERT INTO identity SELECT 'https://provider.example', a.i::text, account, '', '', '', at FROM ${EACH}`,
    `INSERT INTO sign_up (account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm, account_key,
        device_key_algorithm, device_key, device_attributes, device_id, profile_image_url, deployed_at,
        key_registered_at, device_registered_at, completed_at, lease_until, created_at)
      SELECT account, ${CHAIN}, 'wallet', 'Wallet', 'device', 'ES256', ${DEVICE}, 'ES256', ${DEVICE}, '{}',
        gen_random_uuid(), '', at, at, at, at, at, at FROM ${EACH}`,
    `INSERT INTO account_access SELECT account FROM ${EACH}`,
    `INSERT INTO passkey_counter SELECT account, ${DEVICE}, 0, at FROM ${EACH} AND a.i % 10 = 0`,
  ],
  device: [
    `INSERT INTO account_lock SELECT account FROM ${EACH}`,
    `INSERT INTO device (id, account_id, algorithm, public_key, push_token, name, os_name, os_version,
        device_manufacturer, device_model, lang, type, sdk_version, created_at, last_used_at)
      SELECT gen_random_uuid(), account, 'ES256', 'first' || ${DEVICE}, '', '', '', '', '', '', '', 'mobile', '', at, at
      FROM ${EACH}`,
  ],
  key: [
    `INSERT INTO account_lock SELECT account FROM ${EACH}`,
    `INSERT INTO registration (id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key,
        device_algorithm, device_key, name, key_index, origin, created_at)
      SELECT gen_random_uuid(), account, ${CHAIN}, 'wallet', 'Wallet', 'device', 'ES256', ${DEVICE}, 'ES256', ${DEVICE},
        '', 1, 'sign-up', at FROM ${EACH}`,
  ],
  account: [
    `INSERT INTO account SELECT account, '', at, at FROM ${EACH}`,
    `INSERT INTO address SELECT account, ${CHAIN}, type, type || a.i, 747
      FROM unnest(ARRAY['cadence', 'evm']) AS type, ${EACH}`,
    `INSERT INTO deployment (account_id, chain_name, user_key_algorithm, user_key, state, batch_limit, queued_at)
      SELECT account, ${CHAIN}, 'ES256', ${DEVICE}, 'sealed', 50, at FROM ${EACH}`,
  ],
  signer: [
    `INSERT INTO account_lock SELECT account FROM ${EACH}`,
    `INSERT INTO binding SELECT account, ${CHAIN}, 'cadence' || a.i, 0, 1, at FROM ${EACH}`,
    `INSERT INTO binding_version (account_id, chain_name, server_key_version, server_key_index, created_at)
      SELECT account, ${CHAIN}, 1, 0, at FROM ${EACH}`,
    `INSERT INTO signed_creation SELECT account, ${CHAIN}, 1, at FROM ${EACH}`,
  ],
};

/** The statements of a month. */
export const TRAFFIC: Statements = {
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
    `INSERT INTO token_state_entry (bucket, position, kind, subject, active, until)
      SELECT ${BUCKET}, a.i, 'session', ${OTHER}::text, true, at + interval '16 minutes' FROM ${TWICE} WHERE $3::int >= 0`,
    // Lifted freezes.
    `INSERT INTO token_state_entry (bucket, position, kind, subject, active, until)
      SELECT ${BUCKET}, a.i, 'account', account::text, false, at FROM ${TWELFTH} AND u.n = 0 AND ${FEW}`,
    `INSERT INTO recovery_lift SELECT account, at, at FROM ${TWELFTH} AND u.n = 0 AND ${FEW}`,
    // The key of a removed device for good, one that was revoked on chain for as long as tokens live.
    `INSERT INTO blocked_key SELECT account, 'ES256', 'month' || $3::int || '/' || u.n,
        CASE WHEN u.n = 1 THEN at + interval '16 minutes' END FROM ${TWELFTH}`,
    `INSERT INTO account_hold (alert_id, account_id, chain_name, transaction_id, event_type, placed_at, lifted_at)
      SELECT ${OTHER}, account, ${CHAIN}, 'tx', 'AccountKeyAdded', at, at FROM ${TWELFTH} AND u.n = 0 AND ${FEW}`,
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
        CASE WHEN u.n = 0 THEN 'finished' WHEN ${FEW} THEN 'pending' ELSE 'expired' END, ${OTHER}, '\\x00', at, at + interval '5 minutes', 0
      FROM ${TWELFTH}`,
    `INSERT INTO two_factor_message (message_id, two_factor_id, account_id, message, created_at)
      SELECT ${OTHER}, md5('request' || a.i || '/' || u.n || '/' || $3::int)::uuid, account, '\\x00', at FROM ${TWELFTH}`,
    `INSERT INTO delivery (event_id, target, account_id, kind, created_at)
      SELECT ${OTHER}, 'notice', account, 'new-sign-in', at FROM ${TWICE} WHERE $3::int >= 0`,
  ],
  key: [
    `INSERT INTO registration (id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key,
        device_algorithm, device_key, name, key_index, origin, created_at, alert_at)
      SELECT ${OTHER}, account, ${CHAIN}, 'wallet', 'Wallet', 'device', 'ES256', 'month' || $3::int, 'ES256', ${DEVICE},
        '', 2 + $3::int, 'two-factor', at, CASE WHEN ${FEW} THEN at END FROM ${TWELFTH} AND u.n = 0`,
  ],
  account: [
    `INSERT INTO creation (id, chain_name, key_index, account_ids, server_keys, transaction, state, lease_owner,
        lease_until, created_at)
      SELECT ${OTHER}, 'flow-mainnet', 0, ARRAY[account], '{}', to_jsonb(repeat('x', 4000)),
        CASE WHEN u.n = 0 THEN 'sealed' ELSE 'failed' END, ${OTHER}, at, at FROM ${TWELFTH}`,
    `INSERT INTO key_addition (attempt_id, account_id, chain_name, user_key_algorithm, user_key, state, transaction, created_at)
      SELECT ${OTHER}, account, 'flow-mainnet', 'ES256', ${DEVICE}, 'sealed', to_jsonb(repeat('x', 4000)), at
      FROM ${TWELFTH} AND u.n = 0`,
    `INSERT INTO server_key_rotation SELECT account, ${CHAIN}, 2, 'k', 'sealed', '{}', 'tx', 1, at
      FROM ${TWELFTH} AND u.n = 0 AND ${FEW}`,
    `INSERT INTO chain_alert SELECT ${OTHER}, account, ${CHAIN}, ${OTHER}::text, 0, 'AccountKeyAdded', 1, 'key', true, at
      FROM ${TWELFTH} AND u.n = 0 AND ${FEW}`,
  ],
  signer: [
    `INSERT INTO added_key (account_id, chain_name, key_x, public_key, algorithm, source, first_signed_at, signed_at)
      SELECT account, ${CHAIN}, 'month' || $3::int, 'k', 'ES256', 'approval', at, at FROM ${TWELFTH} AND u.n = 0`,
    `INSERT INTO revoked_key SELECT account, ${CHAIN}, 'month' || $3::int, at FROM ${TWELFTH} AND u.n = 0`,
    `INSERT INTO time_lock (id, account_id, chain_name, operation, request_hash, started_at, available_at, lapses_at,
        contested_since)
      SELECT ${OTHER}, account, ${CHAIN}, 'revoke-key', 'h', at, at, at, at FROM ${TWELFTH} AND u.n = 0 AND ${FEW}`,
    // The windows of the service: one an hour.
    `INSERT INTO budget_usage SELECT ${CHAIN}, 'service/all/3600/' || (extract(epoch FROM h)::bigint / 3600),
        h + interval '1 hour', 1000, 100000, 100000
      FROM generate_series($1::timestamptz, $1::timestamptz + interval '27 days 23 hours', interval '1 hour') AS h
      WHERE $2::int > 0 AND $3::int >= 0`,
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

/** Tables that may grow, by docs/scaling.md: with accounts, keys, devices, alerts, or all signatures ever. */
export const GROWING = new Set([
  "former_session",
  "account_app",
  "two_factor_sign_in",
  "account_hold",
  "blocked_key",
  "device",
  "registration",
  "server_key_rotation",
  "chain_alert",
  "added_key",
  "revoked_key",
  "time_lock",
  "audit_chain",
  "audit_batch",
  "audit_checkpoint",
  "audit_checkpoint_head",
  "outbox",
]);

/** Each table from which jobs delete, with the condition of rows that are too old at $1. */
export const PAST_RETENTION: Readonly<Record<ServiceName, readonly (readonly [string, string])[]>> = {
  auth: [
    ["challenge", "expires_at < $1 - interval '1 hour'"],
    ["session", "coalesce(ended_at, expires_at) < $1 - interval '7 days'"],
    ["exchanged_code", "expires_at < $1"],
    ["used_idempotency_key", "created_at < $1 - interval '1 day'"],
    ["two_factor_sign_in", "transaction_id IS NULL AND expires_at < $1 - interval '7 days'"],
    ["recovery_lift", "last_at < $1 - interval '8 days'"],
    ["token_key", "signs_until < $1 - interval '31 days'"],
    ["identity_key", "signs_until < $1 - interval '31 days'"],
    ["rate_limit", "expire < extract(epoch FROM $1) * 1000"],
    ["blocked_key", "until < $1 - interval '1 hour'"],
    ["token_state_entry", "until < $1 - interval '25 hours'"],
  ],
  device: [
    ["two_factor", "expires_at < $1 - interval '30 days'"],
    ["delivery", "created_at < $1 - interval '8 days'"],
  ],
  key: [],
  account: [
    ["creation", "lease_until < $1 - interval '30 days'"],
    ["key_addition", "created_at < $1 - interval '60 days'"],
  ],
  signer: [
    ["signature_count", "minute < $1 - interval '10 minutes'"],
    ["ephemeral_use", "updated_at < $1 - interval '10 minutes'"],
    ["budget_usage", "ends_at < $1 - interval '1 day'"],
    ["budget_reservation", "renewed_at < $1 - interval '1 day'"],
    ["signed_template", "signed_at < $1 - interval '7 days'"],
  ],
};
