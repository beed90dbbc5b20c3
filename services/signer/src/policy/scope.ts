import type { VerifiedToken } from "@countersign/service-kit";
import { refuse } from "./refusal.ts";
import { addedUserKey, type Template } from "./template.ts";

/** How often an ephemeral token gets each operation: a renewed message, and a lost answer. */
export const EPHEMERAL_USES = 3;

/**
 * A full session signs whatever the other rules allow. The ephemeral token of a device that asks to be let in signs the addition of its own key, and nothing
 * else. Other scopes sign nothing.
 */
export function checkScope(token: VerifiedToken, template: Template | undefined): void {
  if (token.scope === "full") return;
  if (token.scope !== "sign") refuse("OutsideEphemeralScope", "this token does not open this operation");
  const { algorithm, publicKey } = token.accountKey;
  const added = addedUserKey(template);
  const own = added?.algorithm === algorithm && added.publicKey === publicKey;
  if (!own) refuse("OutsideEphemeralScope", "this token adds its own key, and signs nothing else");
}
