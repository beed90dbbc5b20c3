import type { AddedKey } from "@countersign/flow";

/** Kinds of events of accounts, as an operator decides about them. */
const WATCHED_KINDS = ["keys", "contracts", "account-capabilities", "inbox"] as const;
export type WatchedKind = (typeof WATCHED_KINDS)[number];

/**
 * freeze: alert, and nothing is signed until an operator lifts it; alert: only that; off: not read at all.
 */
export const ALERT_ACTIONS = ["freeze", "alert", "off"] as const;
export type AlertAction = (typeof ALERT_ACTIONS)[number];
export type AlertActions = Readonly<Record<WatchedKind, AlertAction>>;

/**
 * Every event of the core that changes the power over an account, by kind. Verified with Cadence 1.10; see
 * docs/chain-watch.md.
 */
export const WATCHED_EVENTS: Readonly<Record<WatchedKind, readonly string[]>> = {
  keys: ["flow.AccountKeyAdded", "flow.AccountKeyRemoved"],
  contracts: ["flow.AccountContractAdded", "flow.AccountContractUpdated", "flow.AccountContractRemoved"],
  "account-capabilities": ["flow.AccountCapabilityControllerIssued", "flow.AccountCapabilityControllerDeleted"],
  inbox: ["flow.InboxValuePublished", "flow.InboxValueUnpublished", "flow.InboxValueClaimed"],
};

/** An event of the core about one account. */
export interface AccountEvent {
  /** "flow.AccountKeyAdded" and so on. */
  readonly type: string;
  /** The account that acted, 16 hex digits; for a value claimed from an inbox, the claiming account. */
  readonly address: string;
  /** 64 hex digits. */
  readonly transactionId: string;
  /** Its place among the events of its transaction. */
  readonly index: number;
  readonly height: bigint;
  /** Of flow.AccountKeyAdded. */
  readonly addedKey?: AddedKey;
  /** Of flow.AccountKeyRemoved. */
  readonly removedKeyIndex?: number;
}

export const kindOf = ({ type }: Pick<AccountEvent, "type">): WatchedKind | undefined =>
  WATCHED_KINDS.find((kind) => WATCHED_EVENTS[kind].includes(type));

/** Returns the types to read from the chain; keys always, since the list of keys follows them. */
export const typesToRead = (actions: AlertActions): string[] =>
  WATCHED_KINDS.filter((kind) => kind === "keys" || actions[kind] !== "off").flatMap((kind) => WATCHED_EVENTS[kind]);
