import { createHash } from "node:crypto";
import type { ServiceName } from "@countersign/build/paths.ts";

/** The time of the first account's ids: those of accounts, sessions, devices and registrations are UUIDv7. */
const FIRST_MS = 1_767_225_600_000;

/** Returns the n-th id of a kind: a UUIDv7, a millisecond later than the one before. */
export function seededId(kind: string, n: number): string {
  const time = (FIRST_MS + n).toString(16).padStart(12, "0");
  const hash = createHash("md5").update(`${kind}${n}`).digest("hex");
  const hex = `${time}7${hash.slice(13, 16)}8${hash.slice(17)}`;
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Returns the key of the n-th account's device. */
export const seededKey = (n: number): string =>
  ["key", "x", "y", "z"].map((part) => createHash("md5").update(`${part}${n}`).digest("hex")).join("");

/** The same as `seededId`, in SQL. */
const id = (kind: string) =>
  `overlay(overlay(md5('${kind}' || n) placing lpad(to_hex(${FIRST_MS} + n), 12, '0') || '7' from 1) placing '8' from 17)::uuid`;
const KEY = "md5('key' || n) || md5('x' || n) || md5('y' || n) || md5('z' || n)";

/** The values that rows are distributed by, of the n-th account. */
export const PLACED_BY = {
  account: id("account"),
  subject: "'subject-' || n",
  address: "substr(md5('address' || n), 1, 16)",
} as const;
export type PlacedBy = keyof typeof PLACED_BY;

/** Further columns that the rows are made of. */
export const MATERIALS = `${KEY} AS key`;

export interface SeedRows {
  readonly service: ServiceName;
  readonly table: string;
  readonly by: PlacedBy;
  /** Rows of an account, one by default. */
  readonly each?: number;
  /** Columns and their values, made of `n`, those of PLACED_BY, and `key`. */
  readonly columns: string;
  readonly values: string;
}

/**
 * The rows that an account of one device has at rest after its sign-up and its first signed template, as the
 * services write them. Rows that are deleted within 30 days are not among them. Tables with foreign keys come
 * after those that they refer to.
 */
export const SEED_ROWS: readonly SeedRows[] = [
  {
    service: "auth",
    table: "identity",
    by: "subject",
    columns: "issuer, subject, account_id, email, name, created_at",
    values: "'https://login.example', subject, account, n || '@example.com', 'A person', now()",
  },
  {
    service: "auth",
    table: "sign_up",
    by: "account",
    columns: `account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm, account_key,
      device_key_algorithm, device_key, device_attributes, device_id, session_id, profile_image_url, deployed_at,
      key_registered_at, device_registered_at, completed_at, lease_until, created_at`,
    values: `account, 'flow', 'app', 'App', 'device', 'ES256', key, 'ES256', key,
      '{"lang":"en","name":"A phone","type":"mobile","osName":"Android","osVersion":"16","pushToken":"","sdkVersion":"","deviceModel":"","deviceManufacturer":""}',
      ${id("device")}, ${id("session")}, '', now(), now(), now(), now(), now(), now()`,
  },
  { service: "auth", table: "account_access", by: "account", columns: "account_id", values: "account" },
  {
    service: "auth",
    table: "session",
    by: "account",
    columns: `id, account_id, app_id, app_name, device_key_algorithm, device_key, account_key_algorithm, account_key,
      auth_time, created_at, last_used_at, expires_at, refresh_id, refresh_expires_at`,
    values: `${id("session")}, account, 'app', 'App', 'ES256', key, 'ES256', key, now(), now(), now(),
      now() + interval '180 days', md5('refresh' || n)::uuid, now() + interval '30 days'`,
  },
  { service: "device", table: "account_lock", by: "account", columns: "account_id", values: "account" },
  {
    service: "device",
    table: "device",
    by: "account",
    columns: `id, account_id, algorithm, public_key, push_token, name, os_name, os_version, device_manufacturer,
      device_model, lang, type, sdk_version, created_at, last_used_at`,
    values: `${id("device")}, account, 'ES256', key, '', 'A phone', 'Android', '16', '', '', 'en', 'mobile', '', now(),
      now()`,
  },
  { service: "key", table: "account_lock", by: "account", columns: "account_id", values: "account" },
  {
    service: "key",
    table: "registration",
    by: "account",
    columns: `id, account_id, chain_name, app_id, app_name, type, account_algorithm, account_key, device_algorithm,
      device_key, name, key_index, origin, created_at`,
    values: `${id("registration")}, account, 'flow', 'app', 'App', 'device', 'ES256', key, 'ES256', key, 'A phone', 1,
      'sign-up', now()`,
  },
  {
    service: "account",
    table: "account",
    by: "account",
    columns: "id, profile_image_url, created_at, updated_at",
    values: "account, '', now(), now()",
  },
  {
    service: "account",
    table: "address",
    by: "account",
    each: 2,
    columns: "account_id, chain_name, chain_type, address, chain_id",
    values: `account, 'flow', unnest(ARRAY['cadence', 'evm']),
      unnest(ARRAY[address, '0x000000000000000000000002' || address]), 747`,
  },
  {
    service: "account",
    table: "deployment",
    by: "account",
    columns: `account_id, chain_name, user_key_algorithm, user_key, state, batch_limit, creation_id, queued_at`,
    values: "account, 'flow', 'ES256', key, 'deployed', 10, md5('creation' || n / 10)::uuid, now()",
  },
  {
    service: "signer",
    table: "bound_address",
    by: "address",
    columns: "chain_name, address, account_id",
    values: "'flow', address, account",
  },
  {
    service: "signer",
    table: "binding",
    by: "account",
    columns: "account_id, chain_name, address, server_key_index, server_key_version, created_at",
    values: "account, 'flow', address, 0, 1, now()",
  },
  {
    service: "signer",
    table: "signed_creation",
    by: "account",
    columns: "account_id, chain_name, server_key_version, signed_at",
    values: "account, 'flow', 1, now()",
  },
  {
    service: "signer",
    table: "added_key",
    by: "account",
    columns: "account_id, chain_name, key_x, public_key, algorithm, source, first_signed_at, signed_at",
    values: "account, 'flow', left(key, 64), key, 'ES256', 'creation', now(), now()",
  },
  { service: "signer", table: "account_lock", by: "account", columns: "account_id", values: "account" },
];
