import type { Effect } from "../policy/effects.ts";
import { keyHasTwoRoles, keyWasRevoked } from "../policy/history-rules.ts";
import { refusal } from "../policy/refusal.ts";
import type { RequestFacts } from "../policy/request-facts.ts";
import type { EffectStore } from "./ports.ts";

const tooMany = (detail: string) => refusal("TooManyOpenTemplates", detail);

/** Returns the error for an effect whose limit or condition the database refused. */
function refusalOf(effect: Effect) {
  switch (effect.kind) {
    case "not-revoked":
      return keyWasRevoked();
    case "one-role":
      return keyHasTwoRoles();
    case "recovery-key":
      return tooMany(`${effect.limit} recovery keys were signed for in a day: wait`);
    case "device-approved-key":
      return tooMany(
        effect.approver === undefined
          ? `devices have approved ${effect.limit} user keys in a day: wait`
          : `this device has approved ${effect.limit} user keys: use another one or the recovery key`,
      );
    case "sequence-number":
      return tooMany(`the session has ${effect.limit} sequence numbers of the server key open`);
    case "key-addition":
      return refusal(
        "BadTemplateArguments",
        "the key may be on the account already: an older device must approve its addition",
      );
    case "ephemeral-use":
      return refusal("OutsideEphemeralScope", `this token was used ${effect.limit} times`);
    default:
      throw new Error(`the effect ${effect.kind} has no condition`);
  }
}

/**
 * Writes the effects before the signature leaves: all of them, or none. Errors: SigningRefused
 * (TooManyOpenTemplates, BadTemplateArguments, OutsideEphemeralScope).
 */
export async function recordEffects(
  store: EffectStore,
  { account }: RequestFacts,
  effects: readonly Effect[],
  now: Date,
): Promise<void> {
  if (effects.length === 0) return;
  const refused = await store.record(account, effects, now);
  if (refused) throw refusalOf(refused);
}
