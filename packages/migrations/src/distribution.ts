import type { ServiceName } from "@countersign/build/paths.ts";

/**
 * Where the rows of a table are on a database of several nodes:
 *
 * - `by`: each row on the shard of its value of this column; rows of one account are on one node.
 * - `one-shard`: all rows on one shard, the same for all tables of the service.
 * - `everywhere`: a copy on every node; small, and rarely written.
 */
export type Placement = { readonly by: string } | { readonly place: "one-shard" | "everywhere"; readonly why: string };

const byAccount = { by: "account_id" } as const;
const everywhere = (why: string) => ({ place: "everywhere", why }) as const;
const oneShard = (why: string) => ({ place: "one-shard", why }) as const;

/** The tables that each service has. */
const COMMON = {
  outbox: byAccount,
  admin_action: everywhere("has no account in some rows; a row for each command of a person"),
  database_mark: everywhere("one row"),
} as const;

const AUDIT = "records and budgets of a batch commit in one statement, and signers share the budgets' rows anyway";
const HEIGHTS = "one row for each chain";

/** Each table of the five databases, and where its rows are. `distribution.service.test.ts` checks it. */
export const PLACEMENTS: Readonly<Record<ServiceName, Readonly<Record<string, Placement>>>> = {
  auth: {
    ...COMMON,
    identity: { by: "subject" },
    used_idempotency_key: { by: "id" },
    exchanged_code: { by: "code_hash" },
    challenge: { by: "data" },
    rate_limit: { by: "key" },
    token_state_head: { by: "bucket" },
    token_state_entry: { by: "bucket" },
    token_key: everywhere("a row for each key that signs tokens"),
    token_key_lock: everywhere("one row"),
    identity_key: everywhere("a row for each key that signs identity tokens"),
    sign_up: byAccount,
    passkey_counter: byAccount,
    two_factor_sign_in: byAccount,
    frozen_account: byAccount,
    freeze_party: byAccount,
    recovery_lift: byAccount,
    account_hold: byAccount,
    left_account: byAccount,
    account_access: byAccount,
    session: byAccount,
    former_session: byAccount,
    account_app: byAccount,
    blocked_key: byAccount,
  },
  device: {
    ...COMMON,
    device: byAccount,
    two_factor: byAccount,
    two_factor_message: byAccount,
    two_factor_reopening: byAccount,
    delivery: byAccount,
    account_lock: byAccount,
    webhook_delivery: byAccount,
    webhook_queue: byAccount,
  },
  key: { ...COMMON, registration: byAccount, left_account: byAccount, account_lock: byAccount },
  account: {
    ...COMMON,
    account: { by: "id" },
    address: byAccount,
    parent: byAccount,
    deployment: byAccount,
    chain_alert: byAccount,
    server_key_rotation: byAccount,
    key_addition: byAccount,
    creation: everywhere("a transaction of the chain for many accounts: a few each second, deleted after a month"),
    proposal_key: everywhere("a row for each key of a creator"),
    key_watch: everywhere(HEIGHTS),
    budget_settlement: everywhere(HEIGHTS),
  },
  signer: {
    ...COMMON,
    binding: byAccount,
    binding_version: byAccount,
    server_key_rotation: byAccount,
    time_lock: byAccount,
    recovery_key: byAccount,
    added_key: byAccount,
    revoked_key: byAccount,
    signed_template: byAccount,
    signed_creation: byAccount,
    account_lock: byAccount,
    ephemeral_use: { by: "request_id" },
    bound_address: { by: "address" },
    signature_count: oneShard(AUDIT),
    budget_reservation: oneShard(AUDIT),
    budget_usage: oneShard(AUDIT),
    audit_chain: oneShard(AUDIT),
    audit_batch: oneShard(AUDIT),
    audit_checkpoint: oneShard(AUDIT),
    audit_checkpoint_lock: oneShard(AUDIT),
    audit_tree: oneShard(AUDIT),
    audit_tree_block: oneShard(AUDIT),
    audit_checkpoint_head: oneShard(AUDIT),
    audit_archive: oneShard(AUDIT),
  },
};

const MINTED = "a UUID that the service minted: no two accounts get one";
const OF_ALERT = "an alert is of one account";

/**
 * Unique keys without the column that their rows are distributed by. Nodes cannot check them together, so on
 * a database of several nodes they have that column too, as the last one. Each with the reason for which no
 * two accounts have the same key all the same.
 */
export const WIDENED: Readonly<Record<ServiceName, Readonly<Record<string, string>>>> = {
  auth: {
    outbox_pkey: MINTED,
    identity_account_id_key: MINTED,
    two_factor_sign_in_pkey: MINTED,
    account_hold_pkey: OF_ALERT,
    session_pkey: MINTED,
  },
  device: {
    outbox_pkey: MINTED,
    device_pkey: MINTED,
    two_factor_pkey: MINTED,
    two_factor_message_pkey: MINTED,
    delivery_pkey: "an event is of one account",
  },
  key: { outbox_pkey: MINTED, registration_pkey: MINTED },
  account: {
    outbox_pkey: MINTED,
    address_chain_name_address_key: "the chain gives an address to one account; bound_address of the signer checks it",
    chain_alert_pkey: MINTED,
    chain_alert_chain_name_transaction_id_event_index_key: OF_ALERT,
    key_addition_pkey: MINTED,
  },
  signer: {
    outbox_pkey: MINTED,
    binding_chain_name_address_key: "bound_address has the same key, and is written first",
  },
};

/**
 * Unique keys of WIDENED that would refuse nothing any more that anybody writes. A database of several nodes
 * has an index for lookups in their place, with the same name.
 */
export const LOOKUP_ONLY: Readonly<Record<string, string>> = {
  identity_account_id_key: "with the subject in it, it no longer refuses an account another identity",
  address_chain_name_address_key: "an account has two addresses of a chain, of two forms",
  binding_chain_name_address_key: "the primary key has account and chain already",
};

/**
 * Foreign keys that a database of several nodes does not have: one to a table that is everywhere would let no
 * transaction read many shards and then write that table.
 */
export const UNCHECKED: Readonly<Record<string, string>> = {
  deployment_creation_id_fkey: "one transaction writes both; reads bear that an ended creation is deleted",
};

/** Functions that every node must know. */
export const FUNCTIONS: Readonly<Record<ServiceName, readonly string[]>> = {
  auth: ["begin_each_session"],
  device: [],
  key: [],
  account: [],
  signer: ["over_limit"],
};
