import { AppError, type Clock } from "@countersign/core";
import type { Idempotency } from "../idempotency.ts";
import type { App, LoginProfile } from "../login.ts";
import type { KeysOfDevice, NewUserKey } from "../user-key.ts";

/**
 * The steps of a sign-up, in their order. Each may be repeated: DeployAccount is idempotent by account and
 * chain, RegisterKey by account, chain and key, RegisterDevice by account and identity key.
 */
export const SIGN_UP_STEPS = ["DeployAccount", "RegisterKey", "RegisterDevice"] as const;
export type SignUpStep = (typeof SIGN_UP_STEPS)[number];

/** The state of a sign-up: one row for each account and chain. */
export interface SignUpSaga extends NewUserKey {
  readonly accountId: string;
  readonly chainName: string;
  readonly app: App;
  readonly deviceId: string;
  /** The session that the sign-up opens. */
  readonly sessionId: string;
  readonly profileImageUrl: string;
  readonly createdAt: Date;
  readonly done: ReadonlySet<SignUpStep>;
  /**
   * The end of the newest lease. Until then no runner takes the saga over; requests ignore it and may drive
   * the saga at the same time. `giveUp` compares it.
   */
  readonly leaseUntil: Date;
}

/** The index of the user key in a new account; see docs/account-model.md. */
export const FIRST_USER_KEY_INDEX = 1;

export interface Deployed {
  readonly status: "pending" | "deployed" | "failed";
}

/** The call that a step belongs to: its ids for the logs of all services, and its end. */
export interface StepContext {
  readonly requestId: string;
  /** Default: a new trace. */
  readonly traceparent?: string | undefined;
  readonly signal: AbortSignal;
}

interface DeployOptions {
  /** How long to wait for the chain. */
  readonly waitMs: number;
  /**
   * Takes a deployment that the chain refused as the outcome; otherwise starts another attempt, which costs
   * fees again.
   */
  readonly keepFailed: boolean;
}

/** The calls to the services that a sign-up changes. */
export interface SignUpSteps<Answer extends Deployed> {
  deployAccount(saga: SignUpSaga, options: DeployOptions, context: StepContext): Promise<Answer>;
  registerKey(saga: SignUpSaga, context: StepContext): Promise<void>;
  registerDevice(saga: SignUpSaga, context: StepContext): Promise<void>;
}

/**
 * Records steps as done; the mark that completes the saga also emits sign-up-completed, in the same commit.
 */
export type MarkStep = (saga: SignUpSaga, steps: readonly SignUpStep[], now: Date) => Promise<void>;

/** A request to begin or to continue a sign-up; `leaseUntil` is the end of the request's lease. */
export interface LeaseSignUp extends Omit<SignUpSaga, "accountId" | "createdAt" | "done"> {
  readonly profile: LoginProfile;
  /** Used where the identity is new. */
  readonly newAccountId: string;
  /** The full session of the account that requests a further chain. */
  readonly session: ({ readonly accountId: string } & KeysOfDevice) | undefined;
  readonly idempotency: Idempotency | undefined;
  readonly now: Date;
}

/** The facts in the database about a request's identity, chain and Idempotency-Key. */
export interface SignUpFacts {
  /** Undefined for a new identity. */
  readonly accountId: string | undefined;
  /** The account's sign-up on the chain. */
  readonly saga: SignUpSaga | undefined;
  /** Another chain's sign-up of the account is complete. */
  readonly isOnOtherChain: boolean;
  /**
   * Why the account begins on no further chain now: it is frozen, or has left, or a key of the request is
   * blocked. The token may still count for a moment.
   */
  readonly refusal: "AccountFrozen" | "PleaseRegisterKey" | undefined;
  /** The earlier request with the same Idempotency-Key. */
  readonly earlier: { readonly accountId: string; readonly sameBody: boolean } | undefined;
}

/** `isOnChain`: the account has a sign-up on this chain. */
type Rejected =
  | { readonly kind: "account-exists"; readonly isOnChain: boolean }
  | { readonly kind: "idempotency-key-reused" }
  | { readonly kind: "refused"; readonly reason: NonNullable<SignUpFacts["refusal"]> };

/** The next step of a request; see `decideSignUp`. */
export type SignUpDecision =
  | Rejected
  | { readonly kind: "begin" }
  | { readonly kind: "resume"; readonly saga: SignUpSaga }
  | { readonly kind: "replay"; readonly saga: SignUpSaga };

/**
 * The outcome of a request for a lease: `drive` with a lease, `replay` without one, since no step is left.
 * The caller drives both: a replay only reads the deployment's status.
 */
export type LeasedSignUp = Rejected | { readonly kind: "drive" | "replay"; readonly saga: SignUpSaga };

export interface SignUpStore {
  /**
   * Loads the facts, lets `decide` decide, and records the decision: identity, saga with its lease, and use
   * of the Idempotency-Key in one commit. One request of an identity at a time.
   */
  lease(
    command: LeaseSignUp,
    decide: (command: LeaseSignUp, facts: SignUpFacts) => SignUpDecision,
  ): Promise<LeasedSignUp>;
  mark: MarkStep;
  /**
   * Ends the runner's part in a sign-up whose deployment the chain refused, or whose chain is not configured.
   * The person may request it again.
   * Changes nothing where another request or runner has leased the saga since.
   */
  giveUp(saga: SignUpSaga): Promise<void>;
  /** Leases incomplete sagas whose lease has ended. */
  leaseAbandoned(now: Date, leaseUntil: Date, limit: number): Promise<SignUpSaga[]>;
}

/**
 * Drives a saga as far as possible. Steps that are done are skipped, except for the deployment, whose answer
 * has its status. A chain that takes longer than `waitMs` does not hold up key and device; the runner
 * continues later. The steps that were taken are marked together, also where the next one fails. Several
 * callers may drive one saga at once: each step and each mark is idempotent.
 * Errors: DeploymentFailed; those of DeployAccount, RegisterKey and RegisterDevice.
 */
export async function driveSignUp<Answer extends Deployed>(
  saga: SignUpSaga,
  options: DeployOptions & { steps: SignUpSteps<Answer>; mark: MarkStep; clock: Clock; context: StepContext },
): Promise<Answer> {
  const { steps, mark, clock, waitMs, keepFailed, context } = options;
  const deployment = await steps.deployAccount(saga, { waitMs, keepFailed }, context);
  if (deployment.status === "failed") throw new AppError("DeploymentFailed");
  const taken: SignUpStep[] = [];
  try {
    if (deployment.status === "deployed" && !saga.done.has("DeployAccount")) taken.push("DeployAccount");
    if (!saga.done.has("RegisterKey")) {
      await steps.registerKey(saga, context);
      taken.push("RegisterKey");
    }
    if (!saga.done.has("RegisterDevice")) {
      await steps.registerDevice(saga, context);
      taken.push("RegisterDevice");
    }
  } catch (error) {
    // The step's error is the answer.
    if (taken.length > 0) await mark(saga, taken, clock.now()).catch(() => undefined);
    throw error;
  }
  if (taken.length > 0) await mark(saga, taken, clock.now());
  return deployment;
}
