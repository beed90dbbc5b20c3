import { MAX_COMPUTATION } from "@countersign/flow";
import { isServerKeyIndex } from "./account.ts";
import { refusal } from "./refusal.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Rule } from "./rule.ts";
import { noBlockedKeySigned, signaturesAreFew } from "./signatures.ts";
import { addedUserKey, type Template } from "./template.ts";
import {
  linkHasTwoAccounts,
  namesNoRotatedServerKey,
  templateArgumentsAreReadable,
  templateKeysAreAllowed,
} from "./template-rules.ts";

/**
 * Rejects what the token's scope does not include. A full session may sign everything that the other rules
 * allow; the ephemeral token of a new device only the addition of its own key; a session of a recovery key
 * only the addition of one device's key (after its time lock).
 */
export const tokenScopeAllows: Rule<Pick<RequestFacts, "token" | "template">> = ({ token, template }) => {
  if (token.scope === "full") return undefined;
  const added = addedUserKey(template);
  if (token.scope === "recover") {
    return added ? undefined : refusal("OutsideEphemeralScope", "a recovery key's session only enrolls a device");
  }
  const { algorithm, publicKey } = token.accountKey;
  const isOwn = added?.algorithm === algorithm && added.publicKey === publicKey;
  return isOwn ? undefined : refusal("OutsideEphemeralScope", "this token only adds its own key");
};

/**
 * Rejects a transaction that the account pays for itself where the paymaster must pay: its rules would be
 * skipped. That is everything that is not a full session's, and each template: where the account pays, the
 * signatures follow the signer's. It could not see that one is the recovery key's, or a blocked one that
 * links a parent for good, and a token alone could have keys remembered as revoked.
 */
const paymasterPaysWhereRequired: Rule<Pick<RequestFacts, "message" | "token" | "account" | "template">> = ({
  message,
  token,
  account,
  template,
}) => {
  const isRequired = token.scope !== "full" || template !== undefined;
  return isRequired && message.payer === account.address
    ? refusal("UnknownPayer", "the payer is not the service's paymaster")
    : undefined;
};

export const accountProposes: Rule<RequestFacts> = ({ message, account }) =>
  message.proposalKey.address === account.address
    ? undefined
    : refusal("ProposerNotYours", "the proposer is not the account");

export const payerIsKnown: Rule<RequestFacts> = ({ message: { payer }, chain, account }) =>
  payer === chain.paymaster.address || payer === account.address
    ? undefined
    : refusal("UnknownPayer", "the payer is neither the service's paymaster nor the account");

/**
 * The server key proposes templates and nothing else: a device could use up its sequence numbers, and other
 * transactions would void a template.
 */
export const serverKeyProposesTemplatesOnly: Rule<RequestFacts> = ({ message, account, template }) => {
  const isByServerKey = isServerKeyIndex(account, message.proposalKey.keyId);
  if (isByServerKey && !template) return refusal("ProposerNotYours", "the server key proposes templates only");
  if (!isByServerKey && template) return refusal("ProposerNotYours", "the server key must propose a template");
  return undefined;
};

export const scriptIsPresent: Rule<RequestFacts> = ({ message }) =>
  message.script.trim() === "" ? refusal("ScriptNotUnderstood", "the message has no script") : undefined;

interface GasFacts extends Pick<RequestFacts, "message" | "policy"> {
  readonly template: Template | undefined;
}

/**
 * The cap of the policy, or the most for a template: every key that an account ever had makes it dearer.
 * Nodes may read a gas limit of 0 as none.
 */
export const gasLimitIsWithinCap: Rule<GasFacts> = ({ message: { gasLimit }, template, policy }) => {
  const cap = template ? MAX_COMPUTATION : policy.gasLimitCap;
  return gasLimit === 0n || gasLimit > cap ? refusal("GasLimit", `the gas limit must be 1 to ${cap}`) : undefined;
};

/**
 * The authorizer signs a payload, or an envelope where the account pays itself and signs as the payer too.
 */
export const authorizerSignsPayload: Rule<RequestFacts> = ({ message, account }) =>
  message.kind === "envelope" && message.payer !== account.address
    ? refusal("WrongMessageKind", "the authorizer signs a payload; the envelope is the payer's")
    : undefined;

/** The rules of the server key's signature over a user's transaction, in the order in which they apply. */
export const TRANSACTION_RULES: readonly Rule<RequestFacts>[] = [
  signaturesAreFew,
  templateArgumentsAreReadable,
  tokenScopeAllows,
  namesNoRotatedServerKey,
  accountProposes,
  payerIsKnown,
  serverKeyProposesTemplatesOnly,
  scriptIsPresent,
  gasLimitIsWithinCap,
  paymasterPaysWhereRequired,
  authorizerSignsPayload,
  linkHasTwoAccounts,
  templateKeysAreAllowed,
  noBlockedKeySigned,
];
