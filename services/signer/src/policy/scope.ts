import type { VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { Binding } from "./account.ts";
import { refuse } from "./refusal.ts";
import { addedUserKey, type Template } from "./template.ts";

/** How often an ephemeral token gets each operation: a renewed message, and a lost answer. */
export const EPHEMERAL_USES = 3;

/**
 * A full session signs whatever the other rules allow. The ephemeral token of a device that asks to be let in signs the addition of its own key, and nothing
 * else; a recovery key's session the addition of one device's, after its delay (time-lock.ts). Neither pays for itself: the paymaster's rules would not be asked.
 */
export function checkScope(token: VerifiedToken, template: Template | undefined): void {
  if (token.scope === "full") return;
  const { algorithm, publicKey } = token.accountKey;
  const added = addedUserKey(template);
  if (token.scope === "recover") {
    if (!added) refuse("OutsideEphemeralScope", "a recovery key lets a device in, and signs nothing else");
    return;
  }
  const own = added?.algorithm === algorithm && added.publicKey === publicKey;
  if (!own) refuse("OutsideEphemeralScope", "this token adds its own key, and signs nothing else");
}

/**
 * Who is not a full session is paid for by the paymaster: an envelope of the account's own would go past the paymaster's rules. So is a new user key, for
 * everybody: where the account pays, the signatures come after ours, and nobody would see that one is the recovery key's. A rotation is the service's own wish.
 */
export function checkPayerOfScope(
  token: VerifiedToken,
  message: DecodedMessage,
  account: Pick<Binding, "address">,
  template: Template | undefined,
): void {
  const isPaidFor = addedUserKey(template) !== undefined || template?.name === "rotate-server-key";
  const needsPaymaster = token.scope !== "full" || isPaidFor;
  if (needsPaymaster && message.payer === account.address) refuse("UnknownPayer", "the payer is not our paymaster");
}
