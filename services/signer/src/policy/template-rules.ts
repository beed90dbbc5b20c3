import { AppError } from "@countersign/core";
import { refusal } from "./refusal.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Rule } from "./rule.ts";
import { sameHolder } from "./template.ts";

const badArguments = (detail: string) => refusal("BadTemplateArguments", detail);

/**
 * The only caller whose rotations are signed: without its report of the seal the signer would keep using the
 * old key.
 */
const ROTATING_CALLER = "account";

export const templateArgumentsAreReadable: Rule<Pick<RequestFacts, "templateProblem">> = ({ templateProblem }) =>
  templateProblem === "" ? undefined : badArguments(templateProblem);

/**
 * Rejects a template that names a server key which a rotation has replaced, or is about to bring: the client
 * is to make the message again from the account's keys. A client that did so in time is not refused, so this
 * rule comes before those that would refuse the index. Errors: MessageRenewed.
 */
export const namesNoRotatedServerKey: Rule<RequestFacts> = ({ template, message, account }) => {
  if (!template || template.change.template === "rotate-server-key") return undefined;
  const { change, serviceKeys } = template;
  const { keyId } = message.proposalKey;
  const named = "serverKey" in change ? change.serverKey : undefined;
  const isRetired =
    account.retired?.some(({ index }) => index === keyId) ||
    serviceKeys.retiredServerKeys.some(({ publicKey }) => publicKey === named);
  const isNext = account.rotatingTo !== undefined && keyId !== account.serverKeyIndex;
  if (!isRetired && !isNext) return undefined;
  return new AppError("MessageRenewed", { retryAfterSeconds: 1, detail: "the account's server key is being rotated" });
};

/** A link is between two accounts. The chain checks it too. */
export const linkHasTwoAccounts: Rule<RequestFacts> = ({ template, account }) =>
  template && "other" in template.change && template.change.other === account.address
    ? badArguments("an account cannot be its own parent")
    : undefined;

/**
 * A template names the account's own server key and no other as its server key, and none of the service's
 * keys as a key that it adds or revokes: one holder of both roles could act alone. A rotation leads from the
 * account's server key to its next version, and only the account service may request it.
 */
export const templateKeysAreAllowed: Rule<RequestFacts> = ({ template, caller }) => {
  if (!template) return undefined;
  const { change } = template;
  const { serverKey, nextServerKey, all } = template.serviceKeys;
  if (change.template === "rotate-server-key") {
    if (change.oldKey !== serverKey.publicKey) return badArguments("the old key is not the account's server key");
    if (change.newServerKey !== nextServerKey?.publicKey)
      return badArguments("the new key is not the account's next server key");
    return caller === ROTATING_CALLER ? undefined : badArguments("only the account service requests a rotation");
  }
  if ("serverKey" in change && change.serverKey !== serverKey.publicKey)
    return badArguments("the server key is not the account's");
  const named = ["newKey" in change ? change.newKey.publicKey : "", "oldKey" in change ? change.oldKey : ""];
  return named.some((key) => key !== "" && all.some(({ publicKey }) => sameHolder(publicKey, key)))
    ? badArguments("the key is one of the service's")
    : undefined;
};
