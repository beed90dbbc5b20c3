import type { VerifiedToken } from "@countersign/core";
import type { AccountProof } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { Binding } from "./account.ts";
import type { Policy } from "./policy.ts";
import { refusal } from "./refusal.ts";
import type { Rule } from "./rule.ts";
import { sameHolder } from "./template.ts";
import type { AddedKey } from "./user-keys.ts";

/** The facts of a request to sign a text or an account proof with a user's token. */
export interface UserMessageFacts {
  readonly token: VerifiedToken;
  /** The token's account on the chain that is meant. */
  readonly account: Binding;
  /** Keys of the account that must not have signed, such as a removed device's. */
  readonly blockedKeys: readonly PublicKey[];
  /** The session's account key as the signer knows it; undefined: it helped no such key onto the account. */
  readonly added: AddedKey | undefined;
  /** Whether the session's account key has signed the message. */
  readonly isSigned: boolean;
}

/** An ephemeral token has no key on the account yet, and a recovery key only enrolls a device. */
const sessionIsFull: Rule<Pick<UserMessageFacts, "token">> = ({ token }) =>
  token.scope === "full" ? undefined : refusal("OutsideEphemeralScope", "only a full session signs user messages");

/**
 * Rejects a key that the signer does not know of the account. No chain checks a user message before it
 * counts, and verifiers accept the server key's signature alone: a key that only the token names must not
 * suffice.
 */
const keyIsRegistered: Rule<Pick<UserMessageFacts, "added">> = ({ added }) =>
  added === undefined || added.revoked
    ? refusal("UnregisteredKey", "the session's account key is not a key of the account, or was revoked")
    : undefined;

const keyIsNotBlocked: Rule<Pick<UserMessageFacts, "token" | "blockedKeys">> = ({ token, blockedKeys }) =>
  blockedKeys.some(({ publicKey }) => sameHolder(publicKey, token.accountKey.publicKey))
    ? refusal("BlockedKey", "the session's account key is blocked")
    : undefined;

/** A stolen token alone must not speak for the account. */
const userHasSigned: Rule<Pick<UserMessageFacts, "isSigned">> = ({ isSigned }) =>
  isSigned ? undefined : refusal("UserSignatureInvalid", "the session's account key has not signed the message");

/** The rules of a signature over a text or an account proof, in the order in which they apply. */
export const USER_MESSAGE_RULES: readonly Rule<UserMessageFacts>[] = [
  sessionIsFull,
  keyIsRegistered,
  keyIsNotBlocked,
  userHasSigned,
];

/**
 * Rejects a proof for an app that the session's own app must not speak to, where the operator's policy lists
 * those: one app of the operator could log the person in to another party.
 */
export const appIdentifierIsAllowed: Rule<{
  readonly proof: AccountProof;
  readonly token: VerifiedToken;
  readonly policy: Pick<Policy, "appIdentifiers">;
}> = ({ proof: { appIdentifier }, token: { appId }, policy }) => {
  const allowed = policy.appIdentifiers.get(appId);
  return allowed === undefined || allowed.has(appIdentifier)
    ? undefined
    : refusal("AppIdentifierNotAllowed", "the app of this session makes no proofs for that app identifier");
};
