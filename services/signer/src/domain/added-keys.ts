import type { VerifiedToken } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { Binding } from "../policy/account.ts";
import { refuse } from "../policy/refusal.ts";
import { addedUserKey, sameHolder, type Template } from "../policy/template.ts";
import type { RevokedKeys } from "./revoked-keys.ts";
import type { RecoveryKeys } from "./time-locks.ts";

type OfAccount = Pick<Binding, "accountId" | "chainName">;

/**
 * What put a user key on its account: its creation, a device's approval, or a recovery key after its delay.
 */
export type KeySource = "creation" | "device" | "recovery";

/** A user key that came to an account with the signer's signature. */
export interface AddedKey {
  readonly key: PublicKey;
  readonly source: KeySource;
  readonly firstSignedAt: Date;
  /** The last time that its addition was signed: the age of the key counts from here. */
  readonly signedAt: Date;
  /** The signer has signed its revocation. */
  readonly revoked: boolean;
}

export interface KeyAddition {
  readonly key: PublicKey;
  readonly source: "device" | "recovery";
  readonly now: Date;
  /** An addition first signed after this moment may still be waiting to run: signing it again renews it. */
  readonly renewableSince: Date;
  /** When the approving key came to the account; undefined where that is not known. */
  readonly approverSince: Date | undefined;
}

/** User keys by account and chain; a key and its negation are one. Never forgotten. */
export interface AddedKeys {
  /**
   * Records the user keys of accounts whose creation is signed; a key that is known already stays unchanged.
   */
  recordCreation(chainName: string, keys: readonly { accountId: string; key: PublicKey }[], now: Date): Promise<void>;
  /**
   * Records an addition. Signed again, the key counts as added now, but keeps the source `creation` or
   * `recovery`. Returns false, and changes nothing, where a known key is neither renewable nor approved by an
   * older key or by a recovery key: a young device could make an older one count as young.
   */
  record(account: OfAccount, addition: KeyAddition): Promise<boolean>;
  of(account: OfAccount): Promise<AddedKey[]>;
}

/** The row of a key, or of its negation. */
export const findAdded = (keys: readonly AddedKey[], publicKey: string): AddedKey | undefined =>
  keys.find(({ key }) => sameHolder(key.publicKey, publicKey));

/**
 * Returns for how many milliseconds a key has been on its account: Infinity for a key of the creation, which
 * found nothing older there, and for one that a recovery key approved after its delay; 0 for a key that is
 * not known.
 */
export function ageOfKey(added: AddedKey | undefined, now: Date): number {
  if (!added) return 0;
  return added.source === "device" ? now.getTime() - added.signedAt.getTime() : Number.POSITIVE_INFINITY;
}

/** Who approved an addition that the paymaster is to pay for. */
export interface Approval {
  /** The user key whose signature the payload carries. */
  readonly approver: PublicKey;
  readonly isRecoveryKey: boolean;
}

/**
 * Records the addition of a user key before the paymaster's signature leaves. The authorizer's signature
 * alone adds nothing, since a new user key is always paid for by the paymaster (see checkPayerOfScope); and
 * only the paymaster sees who approved. Errors: SigningRefused (BadTemplateArguments).
 */
export async function recordAddition(
  addedKeys: AddedKeys,
  template: Template | undefined,
  account: OfAccount,
  { approver, isRecoveryKey }: Approval,
  { now, renewableSince }: Pick<KeyAddition, "now" | "renewableSince">,
): Promise<void> {
  const key = addedUserKey(template);
  if (!key) return;
  const approverSince = findAdded(await addedKeys.of(account), approver.publicKey)?.signedAt;
  const source = isRecoveryKey ? "recovery" : "device";
  if (!(await addedKeys.record(account, { key, source, now, renewableSince, approverSince }))) {
    refuse("BadTemplateArguments", "the key may be on the account already: an older device must approve it");
  }
}

export interface ApproverSources {
  readonly addedKeys: Pick<AddedKeys, "of">;
  readonly recoveryKeys: Pick<RecoveryKeys, "of">;
  readonly revokedKeys: Pick<RevokedKeys, "has">;
  blockedKeys(accountId: string): readonly PublicKey[];
}

/** Keys that are tried as the approver of one addition: a signature does not say whose it is. */
const MAX_APPROVERS = 100;

/**
 * Returns the keys that may approve an addition with an ephemeral token: those that the signer has helped
 * onto the account, user keys and recovery keys, but not blocked or revoked ones, nor the new key itself. The
 * oldest come first. A key whose revocation was signed and never ran is none of them: its device approves
 * with its own session.
 */
export async function approversOf(
  { addedKeys, recoveryKeys, revokedKeys, blockedKeys }: ApproverSources,
  account: OfAccount,
  newKey: PublicKey,
): Promise<Approval[]> {
  const blocked = blockedKeys(account.accountId);
  const may = (key: PublicKey) => ![newKey, ...blocked].some(({ publicKey }) => sameHolder(publicKey, key.publicKey));
  const users = (await addedKeys.of(account)).map(({ key, revoked }) => ({ key, revoked, isRecoveryKey: false }));
  const recovery = (await recoveryKeys.of(account)).map(async (key) => ({
    key,
    revoked: await revokedKeys.has(account, key.publicKey),
    isRecoveryKey: true,
  }));
  return [...(await Promise.all(recovery)), ...users]
    .filter(({ key, revoked }) => !revoked && may(key))
    .slice(0, MAX_APPROVERS)
    .map(({ key, isRecoveryKey }) => ({ approver: key, isRecoveryKey }));
}

/** Whether a template revokes a user key that is not the session's own. */
export const revokesAnotherKey = ({ change }: Template, token: Pick<VerifiedToken, "accountKey">): boolean =>
  change.template === "revoke-user-key" && !sameHolder(change.oldKey, token.accountKey.publicKey);
