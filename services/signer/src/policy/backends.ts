import { type Clock, limitPerMinute, SIGNS_FOR_ALL, type VerifiedToken } from "@countersign/core";
import { z } from "zod";
import { type BudgetRule, budgetRules } from "../budget/budget-rules.ts";
import { refusal } from "./refusal.ts";

const backend = z.strictObject({
  apps: z.array(z.string().min(1)).min(1),
  /** The only accounts that it may sign for. Default: all users of its apps. */
  accounts: z.array(z.uuid()).min(1).optional(),
  /**
   * Signatures that it may request, over all of its users and per replica of the signer. Default: as many as
   * its users may.
   */
  signaturesPerMinute: z.int().positive().optional(),
  /**
   * The budget of its users' transactions through it, over all replicas; default: the policy's
   * `budgets.backend`.
   */
  budgets: budgetRules.optional(),
});

/** The rights of a backend. */
export interface Backend {
  readonly apps: ReadonlySet<string>;
  readonly accounts?: ReadonlySet<string> | undefined;
  readonly signaturesPerMinute?: number | undefined;
  readonly budgets?: readonly BudgetRule[] | undefined;
}

/** Returns what a backend may do; undefined for our own services, and for one that is not in the list. */
export type Backends = (caller: string) => Backend | undefined;

/** The schema of the backends in deploy/peers.json, for the signer alone; it ignores the rest of the file. */
export const backendsFile = z
  .object({ backends: z.record(z.string(), backend).default({}) })
  .transform(({ backends }): Backends => {
    const byName = new Map(
      Object.entries(backends).map(([name, { apps, accounts, ...each }]): [string, Backend] => [
        name,
        { ...each, apps: new Set(apps), accounts: accounts && new Set(accounts) },
      ]),
    );
    return (caller) => byName.get(caller);
  });

/**
 * Creates the check of callers that are backends: they sign for users of their own apps, only for the
 * configured accounts if there are any, and up to a number of signatures per minute and process. The check
 * counts the request. Its errors: SigningRefused (NotYourApp, NotYourAccount), RateLimited.
 */
export function createBackendCheck(backendOf: Backends, clock: Clock) {
  const requireWithinLimit = limitPerMinute(clock);
  return function checkBackend(caller: string, token: VerifiedToken): void {
    const rules = backendOf(caller);
    // The caller table may be newer than this list: each of the two takes a changed file for itself.
    if (!rules && SIGNS_FOR_ALL.includes(caller)) return;
    if (!rules?.apps.has(token.appId)) throw refusal("NotYourApp", "the token is of an app that is not the caller's");
    if (rules.accounts?.has(token.accountId) === false)
      throw refusal("NotYourAccount", "the account is not the caller's");
    if (rules.signaturesPerMinute !== undefined) requireWithinLimit(caller, rules.signaturesPerMinute);
  };
}
export type BackendCheck = ReturnType<typeof createBackendCheck>;
