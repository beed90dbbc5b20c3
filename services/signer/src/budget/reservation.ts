import { type Clock, limitIdOf, type VerifiedToken } from "@countersign/core";
import type { DecodedMessage, TemplateName } from "@countersign/flow";
import {
  type Amounts,
  type BudgetPolicy,
  type BudgetScope,
  estimateFees,
  openFeesWindow,
  proposalOf,
  type Reservation,
  windowsAt,
} from "./budget.ts";
import type { BudgetRule } from "./budget-rules.ts";

/** Returns a backend's own budgets, if it has any; undefined where the caller is none. */
export type BackendBudgets = (caller: string) => { readonly budgets?: readonly BudgetRule[] | undefined } | undefined;

/** For whom a transaction is signed. */
export interface Spender {
  readonly operation: "transaction" | "paymaster";
  readonly chainName: string;
  readonly token: VerifiedToken;
  /** The template that the transaction runs; undefined: a custom script. */
  readonly template: TemplateName | undefined;
  readonly caller: string;
}

/**
 * Returns whose budget of an account a transaction uses. Recovery sessions have one of their own, and each
 * device has one for its revocations: a device that a thief has must not keep its own key on the account by
 * using up the account's.
 */
function budgetOf({ token, template }: Spender): string {
  if (token.scope === "recover") return `${token.accountId}/recovery`;
  return template === "revoke-user-key" ? `${limitIdOf(token)}/revocations` : token.accountId;
}

/**
 * Templates of a device, or of the recovery key, in a quarter of an hour. Each one that executes uses up the
 * number of the server key that the others wait for: a thief's phone could void all of the recovery key's.
 */
const TEMPLATES: BudgetRule = { windowSeconds: 900, count: 60, computation: undefined, fees: undefined };

/** Returns the most that a signature lets a transaction use: only the paymaster's costs fees. */
export function amountsOf(
  operation: "transaction" | "paymaster",
  { gasLimit }: Pick<DecodedMessage, "gasLimit">,
  chainName: string,
  policy: Pick<BudgetPolicy, "pricesOf">,
): Amounts {
  if (operation === "transaction") return { count: 1, computation: 0, fees: 0 };
  const computation = Number(gasLimit);
  return { count: 1, computation, fees: estimateFees(computation, policy.pricesOf(chainName)) };
}

/**
 * Creates the function that returns what a signature reserves: in the budgets of the account, its app, the
 * service and the backend that requests it, and among the account's open fees.
 */
export function createReservationFor(backendOf: BackendBudgets, clock: Clock) {
  return function reservationFor(
    message: Pick<DecodedMessage, "gasLimit" | "proposalKey" | "referenceBlockId">,
    spender: Spender,
    policy: BudgetPolicy,
  ): Reservation {
    const now = clock.now();
    const { budgets } = policy;
    const { operation, chainName, token, caller } = spender;
    const ofAccount = budgetOf(spender);
    const backend = backendOf(caller);
    const windows = [
      ...windowsAt("account", ofAccount, budgets.account, now),
      ...(spender.template ? windowsAt("account", `${limitIdOf(token)}/templates`, [TEMPLATES], now) : []),
      ...windowsAt("app", token.appId, budgets.app, now),
      ...windowsAt("service", "all", budgets.service, now),
      ...(backend ? windowsAt("backend", caller, backend.budgets ?? budgets.backend, now) : []),
      openFeesWindow(ofAccount, policy.openFeesCap),
    ];
    return {
      chainName,
      proposal: proposalOf(message.proposalKey),
      referenceBlock: message.referenceBlockId,
      amounts: amountsOf(operation, message, chainName, policy),
      windows,
    };
  };
}
export type ReservationFor = ReturnType<typeof createReservationFor>;

/**
 * Creates the function that returns what a creation reserves: its accounts, which the creator pays for, in
 * the service's budgets of creations; undefined where there are none.
 */
export const createReservationForCreation =
  (clock: Clock) =>
  (
    message: Pick<DecodedMessage, "proposalKey" | "referenceBlockId">,
    { chainName, accounts }: { readonly chainName: string; readonly accounts: number },
    { budgets }: Pick<BudgetPolicy, "budgets">,
  ): Reservation | undefined => {
    const windows = windowsAt("creation", "all", budgets.creation, clock.now());
    if (windows.length === 0) return undefined;
    return {
      chainName,
      proposal: proposalOf(message.proposalKey),
      referenceBlock: message.referenceBlockId,
      // No computation and no fees: nothing of it waits for the chain.
      amounts: { count: accounts, computation: 0, fees: 0 },
      windows,
    };
  };
export type ReservationForCreation = ReturnType<typeof createReservationForCreation>;

/** Returns the rules of a scope's budgets at present; a backend may have its own. */
export const budgetRulesOf =
  (policies: { current(): Pick<BudgetPolicy, "budgets"> }, backendOf: BackendBudgets) =>
  (scope: string, whose: string): readonly BudgetRule[] => {
    const { budgets } = policies.current();
    if (scope === "backend") return backendOf(whose)?.budgets ?? budgets.backend;
    return Object.hasOwn(budgets, scope) ? budgets[scope as BudgetScope] : [];
  };
