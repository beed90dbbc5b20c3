import type { VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { Binding } from "./account.ts";
import { refusal } from "./refusal.ts";
import type { TemplateFacts } from "./request-facts.ts";
import type { Rule } from "./rule.ts";
import { addedUserKey, sameHolder, type Template } from "./template.ts";
import { staleLogin, type TimeLockFacts, timeLockOf } from "./time-lock.ts";

/** The signer's memory of earlier signatures for an account, as far as a template depends on it. */
export interface HistoryFacts extends TimeLockFacts {
  readonly message: DecodedMessage;
  readonly token: VerifiedToken;
  readonly account: Binding;
  readonly template: TemplateFacts;
  /**
   * Until when a later sequence number, signed for before a freeze, may execute; undefined: there is none.
   */
  readonly laterNumberOpenUntil: Date | undefined;
  /** The signer has signed a revocation of the key that the template adds, which forbids the addition. */
  readonly newKeyWasRevoked: boolean;
  /** The template adds a user key that is a recovery key, or the reverse, as the signer knows them. */
  readonly newKeyHasOtherRole: boolean;
}

interface SessionAndTemplate {
  readonly template: Pick<Template, "change">;
  readonly token: Pick<VerifiedToken, "accountKey">;
}

/**
 * Rejects the revocation of the session's own key: another device of the account revokes it. So a revocation
 * never takes the last key that the service accepts; the chain counts the keys of removed devices too.
 */
export const sessionKeepsItsKey = ({ template: { change }, token: { accountKey } }: SessionAndTemplate) =>
  change.template === "revoke-user-key" && sameHolder(accountKey.publicKey, change.oldKey)
    ? refusal("BadTemplateArguments", "a session cannot revoke its own key: use another device of the account")
    : undefined;

/**
 * Rejects a template while a later number of the server key was signed for before a freeze and may still
 * execute: voiding stops at a number that nothing was signed for, and this template's execution would make
 * the later one the next.
 */
export const noLaterNumberIsOpen: Rule<HistoryFacts> = ({ laterNumberOpenUntil, now }) => {
  if (!laterNumberOpenUntil) return undefined;
  const retryAfterSeconds = Math.max(1, Math.ceil((laterNumberOpenUntil.getTime() - now.getTime()) / 1000));
  const detail = "a later sequence number was signed for before the freeze and may still execute";
  return refusal("LaterNumberOpen", detail, { retryAfterSeconds });
};

/**
 * Rejects the addition of the session's own key, except by an ephemeral token, whose key is new: kept, the
 * addition would bring the key back after its revocation.
 */
export const newKeyIsNotTheSessions: Rule<HistoryFacts> = ({ template, token }) => {
  const added = addedUserKey(template);
  return added && token.scope !== "sign" && sameHolder(token.accountKey.publicKey, added.publicKey)
    ? refusal("BadTemplateArguments", "the key is on the account already")
    : undefined;
};

export const keyWasRevoked = () => refusal("BadTemplateArguments", "the key was revoked");

/**
 * Rejects the addition of a revoked key, which the chain would accept. The effect `not-revoked` checks it
 * once more, against revocations that were signed after the facts were loaded.
 */
export const newKeyWasNotRevoked: Rule<HistoryFacts> = ({ newKeyWasRevoked }) =>
  newKeyWasRevoked ? keyWasRevoked() : undefined;

export const keyHasTwoRoles = () =>
  refusal("BadTemplateArguments", "the key is a user key of the account and a recovery key");

/**
 * Rejects a key in a second role, which the chain refuses: remembered as a recovery key too, a device's key
 * would approve nothing without a time lock, and its revocation would not be remembered. The effect
 * `one-role` checks it once more, against keys that were signed for after the facts were loaded.
 */
export const newKeyHasOneRole: Rule<HistoryFacts> = ({ newKeyHasOtherRole }) =>
  newKeyHasOtherRole ? keyHasTwoRoles() : undefined;

/** Rejects a change of the recovery key without a fresh login. */
export const loginIsFresh: Rule<HistoryFacts> = (facts) =>
  timeLockOf(facts)?.needsFreshLogin ? staleLogin(facts.token.authTime, facts.now, facts.timeLockPolicy) : undefined;

/** The rules of a template that depend on earlier signatures, in the order in which they apply. */
export const HISTORY_RULES: readonly Rule<HistoryFacts>[] = [
  sessionKeepsItsKey,
  noLaterNumberIsOpen,
  newKeyIsNotTheSessions,
  newKeyWasNotRevoked,
  newKeyHasOneRole,
  loginIsFresh,
];
