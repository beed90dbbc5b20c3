import type { ReservationFor } from "../budget/reservation.ts";
import { serverKeyOf } from "../policy/account.ts";
import type { BackendCheck } from "../policy/backends.ts";
import { effectsOfTransaction } from "../policy/effects.ts";
import { HISTORY_RULES } from "../policy/history-rules.ts";
import type { RequestFacts } from "../policy/request-facts.ts";
import { evaluate } from "../policy/rule.ts";
import { checkCustomScript } from "../policy/script/check-script.ts";
import type { KnownScripts } from "../policy/script/known-scripts.ts";
import { TRANSACTION_RULES } from "../policy/transaction-rules.ts";
import { type Decide, type DecisionContext, requesterOf, type SignedMessage } from "./decide.ts";
import { type FactSources, loadFacts, loadHistory, type RequestOrigin } from "./load-facts.ts";
import { passTimeLock, type TimeLocking } from "./pass-time-lock.ts";
import type { EffectStore } from "./ports.ts";
import { recordEffects } from "./record-effects.ts";

/** A user's message for a key of the service. */
export interface SignCommand extends RequestOrigin {
  readonly message: Uint8Array;
}

export interface SigningPorts extends FactSources, TimeLocking {
  readonly decide: Decide;
  readonly scripts: KnownScripts;
  readonly effects: EffectStore;
  readonly reservationFor: ReservationFor;
  readonly checkBackend: BackendCheck;
}

/**
 * Passes a custom script that breaks no script rule, and a template that the rules about earlier signatures
 * and its time lock permit.
 * Errors: SigningRefused, RateLimited, LoginTooOld, TimeLockRequired, TimeLockCancelled.
 *
 * Writes: the start of a time lock; the request that starts it is refused with TimeLockRequired.
 */
export async function passScriptOrTemplate(
  ports: SigningPorts,
  facts: RequestFacts,
  context: DecisionContext,
): Promise<void> {
  const { message, account, template } = facts;
  if (!template) return checkCustomScript(ports.scripts, message, { ...context, sender: account.accountId });
  const history = await loadHistory(ports, facts, template);
  evaluate(HISTORY_RULES, history);
  await passTimeLock(ports, history);
}

/**
 * Signs a transaction of the token's own account with the account's server key, as its authorizer.
 *
 * `decide` decodes the message and calls the function below: it loads facts, evaluates rules (pure functions
 * over those facts), passes or starts the time lock and, once everything has passed, writes what the
 * signature leaves behind. It returns which key may sign. Then `decide` signs, and returns the signature once
 * its audit record and its reservation in the budgets are durable. `decide` records refusals too
 * (RECORDED_REASONS). Errors: see signer.v1.Signing/SignTransaction.
 *
 * Writes: the start of a time lock, with its event; the request is refused then. Otherwise the effects, all
 * or none; later the record with the reservation, in one commit. A refusal writes its record or nothing.
 * Crash: after the effects and before the record, the effects stay and no signature has left; the client asks
 * again. They stay as well where the vault fails, and where the last commit refuses the signature by a limit.
 * Race: the statements of the effects and of the record check the limits that replicas share.
 */
export const signTransaction = (ports: SigningPorts) => {
  const { decide, checkBackend, effects: effectStore, reservationFor, clock, unfrozenAt } = ports;
  return (command: SignCommand): Promise<SignedMessage> =>
    decide("transaction", command.message, requesterOf(command), async (message, context) => {
      const { policy } = context;
      const { token, caller } = command;
      checkBackend(caller, token);
      const facts = await loadFacts(ports, command, message, policy);
      evaluate(TRANSACTION_RULES, facts);

      await passScriptOrTemplate(ports, facts, context);

      // In one transaction of the database, which checks the limits that concurrent requests share.
      const now = clock.now();
      const { account, template } = facts;
      const effects = effectsOfTransaction(facts, unfrozenAt(account.accountId), now);
      await recordEffects(effectStore, facts, effects, now);
      const { chainName, address, serverKeyIndex } = account;
      const spender = { operation: "transaction", chainName, token, caller, template: template?.name } as const;
      const reservation = reservationFor(message, spender, policy);
      return { key: serverKeyOf(account), address, keyId: serverKeyIndex, reservation };
    });
};
