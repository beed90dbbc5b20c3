import { DAY_MS, MAX_STATE_AGE_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { referenceSeconds } from "./chain.ts";
import type { RequestFacts } from "./request-facts.ts";
import { addedRecoveryKey, addedUserKey } from "./template.ts";
import { CLOCK_SKEW_MS } from "./time-lock.ts";

/** The key of the account that approves what the paymaster is to pay for. */
export interface Approval {
  readonly key: PublicKey;
  readonly isRecoveryKey: boolean;
  /** Where the signer has helped it onto the account and not revoked it; loaded where a user key is added. */
  readonly registered: { readonly signedAt?: Date } | undefined;
}

/** How a key is added. */
export interface AddedBy {
  /** The kind of key that approves it. */
  readonly source: "device" | "recovery";
  /** An addition first signed after this time may still be waiting to execute: signing it again renews it. */
  readonly renewableSince: Date;
}

/** The addition of a user key, as the paymaster signs it. */
export interface KeyAddition extends Pick<AddedBy, "renewableSince"> {
  readonly key: PublicKey;
  /** `unknown`: of an approver. A known key counts as added now, any other stays unknown. */
  readonly source: AddedBy["source"] | "unknown";
  /** The device's key that approves, 128 hex digits; undefined for a recovery key. */
  readonly approver?: string | undefined;
  /** When the approving key came to the account; undefined where that is not known. */
  readonly approverSince: Date | undefined;
}

interface CountedKey {
  /** Keys that were first signed for after `countedSince`, this one included, also if they are revoked. */
  readonly limit: number;
  readonly countedSince: Date;
}

/** A key that becomes the account's recovery key. */
export interface RecoveryKeySlot extends CountedKey {
  readonly key: PublicKey;
}

/** A condition: devices have approved fewer other keys. Nothing is written. */
export interface DeviceApprovedKey extends CountedKey {
  /** 128 hex digits. */
  readonly publicKey: string;
  /** 128 hex digits; undefined: any device. */
  readonly approver?: string;
}

/** The revocation of a key. */
export interface Revocation {
  /** 128 hex digits. */
  readonly publicKey: string;
  /** By a template that fails on chain for a recovery key; false: for a user key. It revokes no such key. */
  readonly isOfUserKey: boolean;
  /** Revocations after `recentSince`, after which that of a key which the signer does not know has no row. */
  readonly limit: number;
  readonly recentSince: Date;
}

/** A sequence number of the server key for which a template is signed. */
export interface SequenceNumberUse {
  readonly number: bigint;
  readonly sessionId: string;
  /** Numbers of this key that the session may have open, this one included. */
  readonly limit: number;
  /** Numbers signed for before this time are not open any more. */
  readonly openSince: Date;
  /** Signatures up to this time stay known as signed before the account's last freeze ended. */
  readonly unfrozenAt: Date | undefined;
}

/**
 * One thing that a signature leaves behind, or a condition under which the others are written. The audit
 * record and the budgets follow it; see domain/decide.ts.
 */
export type Effect =
  /** A condition, which writes nothing: no revocation of this key forbids the addition, up to this commit. */
  | ({ readonly kind: "not-revoked"; readonly publicKey: string } & AddedBy)
  /** A condition, which writes nothing: up to this commit, the key to add is not known in its other role. */
  | { readonly kind: "one-role"; readonly publicKey: string; readonly isUserKey: boolean }
  | ({ readonly kind: "recovery-key" } & RecoveryKeySlot)
  | ({ readonly kind: "revocation" } & Revocation)
  | ({ readonly kind: "sequence-number" } & SequenceNumberUse)
  | ({ readonly kind: "device-approved-key" } & DeviceApprovedKey)
  | ({ readonly kind: "key-addition" } & KeyAddition)
  | {
      readonly kind: "ephemeral-use";
      readonly sessionId: string;
      readonly operation: "transaction" | "paymaster";
      readonly limit: number;
    }
  /** `version`: of the server key that the rotation brings. */
  | { readonly kind: "rotation"; readonly version: number };

/** Uses of an ephemeral token for each operation: one, a renewed message, and a lost answer. */
const MAX_EPHEMERAL_USES = 3;

/**
 * Sequence numbers of a server key that a session may have signed for and not used up while their reference
 * blocks are valid. A freeze voids each of them, which the service pays for. A client needs one at a time.
 * The limit is per session, so that a thief's session takes none from the owner's.
 */
export const MAX_OPEN_TEMPLATES_PER_SESSION = 16;

/**
 * Recovery keys of an account that the signer signs for in a day. It verifies payload signatures with every
 * key that it ever signed for, revoked ones too: their revocation may not have been sent. Only a day counts:
 * somebody who has a token or a device for a moment could otherwise fill the limit for good, with keys that
 * the owner does not know and cannot revoke. After an account's first day each of them takes a time lock.
 */
export const MAX_RECOVERY_KEYS_PER_DAY = 16;

/**
 * User keys that devices approve in a day: rows of keys are never deleted, and each may approve an ephemeral
 * token's addition. Keys that a recovery key approved do not count: they come one after the other, after a
 * time lock each, and bring an owner back.
 */
export const MAX_DEVICE_APPROVED_KEYS_PER_DAY = 64;
/**
 * User keys that one device approves in ninety days. The chain takes a hundred of an account: a thief's phone
 * could fill them, and no recovery key would add one any more. More than the devices that an account has.
 */
export const MAX_KEYS_PER_APPROVER = 32;
const APPROVER_MS = 90 * DAY_MS;
/**
 * Rows of revoked keys are never deleted, and anybody can name any number of keys that were never added.
 * Further revocations are signed all the same: a thief's must not keep the owner from theirs.
 */
const MAX_REVOKED_KEYS_PER_DAY = 256;

const aDayBefore = (now: Date): Date => new Date(now.getTime() - DAY_MS);

/**
 * Returns the end of a freeze, plus the time for which a replica may have signed without having received it,
 * or with a clock that is ahead.
 */
export const endOfFreeze = (unfrozenAt: Date | undefined): Date | undefined =>
  unfrozenAt && new Date(unfrozenAt.getTime() + MAX_STATE_AGE_MS + CLOCK_SKEW_MS);

const recoveryKeySlot = (key: PublicKey, now: Date): Effect => ({
  kind: "recovery-key",
  key,
  limit: MAX_RECOVERY_KEYS_PER_DAY,
  countedSince: aDayBefore(now),
});

const revocation = (publicKey: string, isOfUserKey: boolean, now: Date): Effect => ({
  kind: "revocation",
  publicKey,
  isOfUserKey,
  limit: MAX_REVOKED_KEYS_PER_DAY,
  recentSince: aDayBefore(now),
});

/** Returns the conditions under which a template adds a key. */
const conditions = ({ publicKey }: PublicKey, isUserKey: boolean, by: AddedBy): Effect[] => [
  { kind: "not-revoked", publicKey, source: by.source, renewableSince: by.renewableSince },
  { kind: "one-role", publicKey, isUserKey },
];

/** Returns the changes that a template makes to the account's keys. */
function keyEffects({ template }: RequestFacts, by: AddedBy, now: Date): Effect[] {
  if (!template) return [];
  const { change } = template;
  const recoveryKey = addedRecoveryKey(template);
  return [
    ...("newKey" in change ? conditions(change.newKey, recoveryKey === undefined, by) : []),
    ...(recoveryKey ? [recoveryKeySlot(recoveryKey, now)] : []),
    ...("oldKey" in change ? [revocation(change.oldKey, change.template === "revoke-user-key", now)] : []),
  ];
}

const deviceApprovedKey = ({ publicKey }: PublicKey, approver: string, now: Date): Effect[] => {
  const since = (ms: number) => new Date(now.getTime() - ms);
  const kind = "device-approved-key" as const;
  return [
    { kind, publicKey, limit: MAX_DEVICE_APPROVED_KEYS_PER_DAY, countedSince: since(DAY_MS) },
    { kind, publicKey, approver, limit: MAX_KEYS_PER_APPROVER, countedSince: since(APPROVER_MS) },
  ];
};

/** Returns the use of an ephemeral token, whose session is the two-factor request that it was issued for. */
const ephemeralUse = ({ token }: RequestFacts, operation: "transaction" | "paymaster"): Effect[] =>
  token.scope === "sign"
    ? [{ kind: "ephemeral-use", sessionId: token.sessionId, operation, limit: MAX_EPHEMERAL_USES }]
    : [];

/** Returns the time after which a signed transaction may still be waiting to execute. */
export const openSince = ({ chain }: Pick<RequestFacts, "chain">, now: Date): Date =>
  new Date(now.getTime() - referenceSeconds(chain) * 1000);

/**
 * Returns what the server key's signature leaves behind, in the order in which it is written. Nothing about
 * the keys that a template names: a stolen token is enough for this signature, and a device's key named as
 * revoked would sign no texts any more. The paymaster, which pays for these templates, wants a user's key.
 */
export function effectsOfTransaction(facts: RequestFacts, unfrozenAt: Date | undefined, now: Date): Effect[] {
  const { template, message, token, account } = facts;
  if (!template) return ephemeralUse(facts, "transaction");
  const sequenceNumber: Effect = {
    kind: "sequence-number",
    number: message.proposalKey.sequenceNumber,
    sessionId: token.sessionId,
    limit: MAX_OPEN_TEMPLATES_PER_SESSION,
    openSince: openSince(facts, now),
    unfrozenAt: endOfFreeze(unfrozenAt),
  };
  const rotation: Effect = { kind: "rotation", version: account.serverKeyVersion + 1 };
  return [
    sequenceNumber,
    ...ephemeralUse(facts, "transaction"),
    ...(template.name === "rotate-server-key" ? [rotation] : []),
  ];
}

/**
 * Returns what the paymaster's signature leaves behind, in the order in which it is written. The paymaster
 * pays for every template (see paymasterPaysWhereRequired), and it alone sees who approved.
 */
export function effectsOfPaymaster(facts: RequestFacts, approval: Approval, now: Date): Effect[] {
  const { isRecoveryKey, registered } = approval;
  const key = addedUserKey(facts.template);
  const by: AddedBy = {
    source: registered && isRecoveryKey ? "recovery" : "device",
    renewableSince: openSince(facts, now),
  };
  const approver = isRecoveryKey ? undefined : approval.key.publicKey;
  const addition = { ...by, ...(!registered && { source: "unknown" as const }), approver };
  return [
    ...keyEffects(facts, by, now),
    ...(key && approver !== undefined ? deviceApprovedKey(key, approver, now) : []),
    ...(key ? [{ kind: "key-addition", key, ...addition, approverSince: registered?.signedAt } as const] : []),
    ...ephemeralUse(facts, "paymaster"),
  ];
}
