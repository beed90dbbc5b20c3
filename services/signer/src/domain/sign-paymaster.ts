import type { PasskeySettings } from "@countersign/keys";
import { paymasterVersion } from "../policy/chain.ts";
import { effectsOfPaymaster } from "../policy/effects.ts";
import { ENVELOPE_RULES, PAYMASTER_RULES } from "../policy/paymaster-rules.ts";
import { evaluate } from "../policy/rule.ts";
import { requesterOf, type SignedMessage } from "./decide.ts";
import { findApproval } from "./find-approval.ts";
import { loadFacts } from "./load-facts.ts";
import { recordEffects } from "./record-effects.ts";
import { passScriptOrTemplate, type SignCommand, type SigningPorts } from "./sign-transaction.ts";

export interface SignPaymasterPorts extends SigningPorts {
  /** The paymasters of all chains: none of them may authorize anywhere. */
  readonly paymasters: ReadonlySet<string>;
  readonly passkeys: PasskeySettings;
}

/**
 * Signs an envelope of the token's own account with the paymaster's key. See signTransaction for what
 * `decide` does. Errors: see signer.v1.Signing/SignPaymaster.
 *
 * Writes: a time lock that begins, with its event, although the request is refused then. Otherwise the
 * effects, all or none; later the record with the reservation, in one commit. A refusal writes its record
 * or nothing.
 * Crash: after the effects and before the record, the effects stay and no signature has left; the client asks
 * again.
 * Race: the statements of the effects and of the record check the limits that replicas share, and those of
 * the effects also that the key to add was not revoked or signed for in another role meanwhile.
 */
export const signPaymaster = (ports: SignPaymasterPorts) => {
  const { decide, checkBackend, paymasters, effects: effectStore, reservationFor, clock } = ports;
  return (command: SignCommand): Promise<SignedMessage> =>
    decide("paymaster", command.message, requesterOf(command), async (message, context) => {
      const { policy } = context;
      const { token, caller } = command;
      checkBackend(caller, token);
      evaluate(ENVELOPE_RULES, { message, paymasters });
      const facts = await loadFacts(ports, command, message, policy);
      evaluate(PAYMASTER_RULES, facts);
      const approval = await findApproval(ports, facts);

      await passScriptOrTemplate(ports, facts, context);

      const { chain, template } = facts;
      const now = clock.now();
      await recordEffects(effectStore, facts, effectsOfPaymaster(facts, approval, now), now);
      const on = { chainName: chain.chainName };
      const key = { role: "paymaster", ...on, version: paymasterVersion(chain) } as const;
      const spender = { operation: "paymaster", ...on, token, caller, template: template?.name } as const;
      const { address, keyId } = chain.paymaster;
      return { key, address, keyId, reservation: reservationFor(message, spender, policy) };
    });
};
