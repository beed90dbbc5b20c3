import { refusal } from "./refusal.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Rule } from "./rule.ts";
import { addedUserKey } from "./template.ts";

/** Uses of an ephemeral token for each operation: one, a renewed message, and a lost answer. */
export const MAX_EPHEMERAL_USES = 3;

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
 * skipped. That is everything that is not a full session's, and each new user key: where the account pays,
 * the signatures follow the signer's, which could not see that one is the recovery key's. The service itself
 * pays for rotations.
 */
export const paymasterPaysWhereRequired: Rule<Pick<RequestFacts, "message" | "token" | "account" | "template">> = ({
  message,
  token,
  account,
  template,
}) => {
  const isPaidFor = addedUserKey(template) !== undefined || template?.name === "rotate-server-key";
  const isRequired = token.scope !== "full" || isPaidFor;
  return isRequired && message.payer === account.address
    ? refusal("UnknownPayer", "the payer is not the service's paymaster")
    : undefined;
};
