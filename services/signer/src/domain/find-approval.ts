import { payloadMessage } from "@countersign/flow";
import { verifyUserSignature } from "@countersign/flow/node";
import type { PasskeySettings, PublicKey, RelyingParty } from "@countersign/keys";
import type { Approval } from "../policy/effects.ts";
import { refusal } from "../policy/refusal.ts";
import type { RequestFacts } from "../policy/request-facts.ts";
import { deviceSignatures } from "../policy/signatures.ts";
import { addedUserKey, sameHolder } from "../policy/template.ts";
import { findSigner } from "./find-signer.ts";
import type { FactSources } from "./load-facts.ts";

/** A key that may approve. */
export interface Candidate {
  readonly key: PublicKey;
  readonly isRecoveryKey: boolean;
  /** When a user key came to the account, where the signer knows it. */
  readonly signedAt?: Date;
}

/**
 * Keys that are tried as the approver of one addition with an ephemeral token: a signature does not say whose
 * it is.
 */
const MAX_APPROVERS = 100;

/**
 * Returns which key has signed the payload: the session's own, or for an ephemeral token, whose key is not on
 * the account yet, one that the signer knows. A stolen token alone must not spend. The signature is a plain
 * one over SHA2-256, or a passkey's for one of the app's relying parties. PAYMASTER_RULES have passed, so
 * there is one device's signature. Errors: SigningRefused (UserSignatureInvalid).
 */
export async function findApproval(
  sources: FactSources & { readonly passkeys: PasskeySettings },
  facts: RequestFacts,
): Promise<Approval> {
  const { token, template } = facts;
  const relyingParties = sources.passkeys.relyingPartiesOf(token.appId);
  const known = addedUserKey(template) ? await loadApprovers(sources, facts) : [];
  const candidates: Candidate[] =
    token.scope === "sign"
      ? known.slice(0, MAX_APPROVERS)
      : [{ key: token.accountKey, isRecoveryKey: token.scope === "recover" }];
  const { key, isRecoveryKey } = await requireSigner(facts, candidates, relyingParties);
  const ofKind = known.filter((each) => each.isRecoveryKey === isRecoveryKey);
  return { key, isRecoveryKey, registered: ofKind.find((each) => sameHolder(each.key.publicKey, key.publicKey)) };
}

/**
 * Returns the candidate whose signature the payload carries. Errors: SigningRefused (UserSignatureInvalid).
 */
export async function requireSigner(
  { message, account }: Pick<RequestFacts, "message" | "account">,
  candidates: readonly Candidate[],
  relyingParties: readonly RelyingParty[],
): Promise<Candidate> {
  const [signature] = deviceSignatures(message, account);
  const payload = payloadMessage(message);
  const signer =
    signature &&
    (await findSigner(candidates, ({ key }) => verifyUserSignature(key, payload, signature, relyingParties)));
  if (!signer) throw refusal("UserSignatureInvalid", "no key that may approve has signed the payload");
  return signer;
}

/**
 * Loads the keys of the account that may approve an addition, as the signer knows them: those that it has
 * helped onto the account, but not blocked or revoked ones, nor the new key itself. Recovery keys come first,
 * then the user keys that no device approved, then the others, the oldest of each first: a thief's device may
 * approve any number over days, which must take no place of a device that a recovery key brought back. A
 * device whose key's revocation was signed and never executed approves with its own session.
 */
async function loadApprovers(
  { addedKeys, recoveryKeys, revokedKeys }: FactSources,
  { account, token, template, blockedKeys }: RequestFacts,
): Promise<Candidate[]> {
  const excluded = [addedUserKey(template) ?? token.accountKey, ...blockedKeys];
  const mayApprove = ({ publicKey }: PublicKey) => !excluded.some((key) => sameHolder(key.publicKey, publicKey));
  const added = (await addedKeys.of(account)).map((each) => ({ ...each, isRecoveryKey: false }));
  const users = added.toSorted((a, b) => Number(a.source === "device") - Number(b.source === "device"));
  const recovery = (await recoveryKeys.of(account)).map(async (key) => ({
    key,
    revoked: await revokedKeys.has(account, key.publicKey),
    isRecoveryKey: true,
  }));
  return [...(await Promise.all(recovery)), ...users].filter(({ key, revoked }) => !revoked && mayApprove(key));
}
