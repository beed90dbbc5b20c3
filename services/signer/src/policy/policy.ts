import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import { z } from "zod";
import type { BudgetPolicy, FeePrices } from "../budget/budget.ts";
import { budgetRules, countRules, flowUnits } from "../budget/budget-rules.ts";
import { refusal } from "./refusal.ts";
import type { ScriptPolicy } from "./script/script-rules.ts";

/** Increased with every change of a rule, so that a record names the rules of its decision. */
export const RULES_VERSION = "script-1";

/**
 * The signing operations: a transaction of an account (its server key), an envelope (the paymaster), a
 * creation, or a text or account proof in the name of an account (its server key). Voiding is both of the
 * first two, see sign-void.ts.
 */
export type Operation = "transaction" | "paymaster" | "creation" | "user-message" | "account-proof";

/**
 * The operator's settings from the policy file. One decision uses one policy, also when a new file is loaded
 * meanwhile.
 */
export interface Policy extends ScriptPolicy, BudgetPolicy {
  /** For the record: of the rules, and of the file. */
  readonly version: string;
  /** Computation that a user's transaction may ask for; templates have a limit of their own. */
  readonly gasLimitCap: bigint;
  /** False: the operator has switched the operation off. */
  readonly switches: Readonly<Record<Operation, boolean>>;
  /** The app identifiers that users of an app may prove their account to, by app id; no entry: any. */
  readonly appIdentifiers: ReadonlyMap<string, ReadonlySet<string>>;
  /** Those of the file; see `pricesOf`. */
  readonly prices: ReadonlyMap<string, FeePrices>;
}

/** Where the policy of the moment is. */
export interface PolicySource {
  current(): Policy;
}

const contract = z
  .string()
  .regex(/^A\.[0-9a-f]{16}\.[A-Za-z_][A-Za-z0-9_]*$/, "a contract is A.<16 hex digits>.<name>");
const scriptHash = z.string().regex(/^[0-9a-f]{64}$/, "a script is its SHA-256, 64 hex digits");
const setOf = (entry: z.ZodString) =>
  z
    .array(entry)
    .max(10_000)
    .transform((list) => new Set(list))
    .default(new Set());

const HOUR = 3600;
/** Where the file says nothing: far above what people do, and the end of what an attacker gets. */
const DEFAULT_BUDGETS = {
  account: [{ windowSeconds: HOUR, count: 3_000, feesFlow: 50 }],
  app: [{ windowSeconds: HOUR, count: 300_000, feesFlow: 5_000 }],
  service: [{ windowSeconds: HOUR, count: 1_000_000, feesFlow: 20_000 }],
  backend: [{ windowSeconds: HOUR, count: 300_000, feesFlow: 5_000 }],
  creation: [{ windowSeconds: HOUR, count: 20_000 }],
};

const feePrices = z
  .strictObject({ inclusionFlow: z.number().nonnegative().max(1), computationFlow: z.number().nonnegative().max(1) })
  .transform(({ inclusionFlow, computationFlow }) => ({
    inclusion: flowUnits(inclusionFlow),
    computation: flowUnits(computationFlow),
  }));

/**
 * A full batch never fits into a smaller limit, and the account service would wait for ever; 0 allows none.
 */
const creationRules = countRules.superRefine((rules, context) => {
  for (const [i, { count = 0 }] of rules.entries())
    if (count > 0 && count < MAX_ACCOUNTS_PER_CREATION) {
      const message = `a creation has up to ${MAX_ACCOUNTS_PER_CREATION} accounts: so many or more, or 0 for none at all`;
      context.addIssue({ code: "custom", path: [i, "count"], message });
    }
});

/** Mainnet's. */
const DEFAULT_PRICES: FeePrices = feePrices.parse({ inclusionFlow: 0.0001, computationFlow: 0.00004 });

/** The schema of a policy file. */
export const policyFile = z
  .strictObject({
    version: z.string().regex(/^[\w.-]{1,40}$/, "a version is letters, digits, dots and dashes"),
    mode: z.enum(["standard", "strict", "templates"]),
    caps: z.strictObject({
      gasLimit: z.number().int().min(1).max(9999),
      openFeesFlow: z.number().positive().max(1e7).default(5),
    }),
    switches: z.strictObject({
      authorizer: z.boolean(),
      paymaster: z.boolean(),
      creation: z.boolean(),
      userMessages: z.boolean().optional(),
    }),
    budgets: z
      .strictObject({
        account: budgetRules.prefault(DEFAULT_BUDGETS.account),
        app: budgetRules.prefault(DEFAULT_BUDGETS.app),
        service: budgetRules.prefault(DEFAULT_BUDGETS.service),
        backend: budgetRules.prefault(DEFAULT_BUDGETS.backend),
        creation: creationRules.prefault(DEFAULT_BUDGETS.creation),
      })
      .prefault({}),
    prices: z.record(z.string().min(1), feePrices).default({}),
    contracts: z
      .strictObject({ mayGetAccount: setOf(contract), mayNamePaths: setOf(contract), denied: setOf(contract) })
      .prefault({}),
    scripts: z.strictObject({ allowed: setOf(scriptHash), denied: setOf(scriptHash) }).prefault({}),
    appIdentifiers: z.record(z.string().min(1), setOf(z.string().min(1))).default({}),
  })
  .transform((data): Policy => {
    const { mode, switches, budgets, contracts, scripts } = data;
    const prices = new Map(Object.entries(data.prices));
    const userMessages = switches.userMessages ?? mode !== "templates";
    return {
      version: `${RULES_VERSION}/${data.version}`,
      mode,
      gasLimitCap: BigInt(data.caps.gasLimit),
      openFeesCap: flowUnits(data.caps.openFeesFlow),
      switches: {
        transaction: switches.authorizer,
        paymaster: switches.paymaster,
        creation: switches.creation,
        "user-message": userMessages,
        "account-proof": userMessages,
      },
      budgets,
      prices,
      pricesOf: (chainName) => prices.get(chainName) ?? DEFAULT_PRICES,
      contracts,
      scripts,
      appIdentifiers: new Map(Object.entries(data.appIdentifiers)),
    };
  });

/** Thrown for an invalid policy file; the message names each field. */
export class PolicyError extends Error {}

/** Reads a policy file's content. Errors: PolicyError. */
export function parsePolicy(content: unknown): Policy {
  const { success, data, error } = policyFile.safeParse(content);
  if (success) return data;
  const lines = error.issues.map(({ path, message }) => `${path.join(".") || "policy"}: ${message}`);
  throw new PolicyError(lines.join("; "));
}

/** Without a file. */
export const DEFAULT_POLICY: Policy = parsePolicy({
  version: "default-1",
  mode: "standard",
  caps: { gasLimit: 9999 },
  switches: { authorizer: true, paymaster: true, creation: true },
});

/** Requires that the operation is switched on. Errors: SigningRefused (SwitchedOff). */
export function checkSwitch(operation: Operation, { switches }: Policy): void {
  if (!switches[operation]) throw refusal("SwitchedOff", "the operator has switched this operation off");
}
