import type { PublicKey } from "@countersign/keys";
import type { Idempotency } from "../idempotency.ts";
import type { LoginProfile } from "../login.ts";
import type { MarkStep, SignUpSaga } from "./sign-up-saga.ts";

/** The outcome of claiming a sign-up. */
export type SignUpClaim =
  | { readonly kind: "drive"; readonly saga: SignUpSaga }
  /** Finished before, and claimed again with the same Idempotency-Key. */
  | { readonly kind: "replay"; readonly saga: SignUpSaga }
  | { readonly kind: "account-exists" }
  | { readonly kind: "idempotency-key-reused" };

export interface ClaimSignUp extends Omit<SignUpSaga, "accountId" | "done"> {
  readonly profile: LoginProfile;
  /** Used where the identity is new. */
  readonly newAccountId: string;
  /** The full session of the account that requests a further chain. */
  readonly session:
    | { readonly accountId: string; readonly accountKey: PublicKey; readonly deviceKey: PublicKey }
    | undefined;
  readonly idempotency: Idempotency | undefined;
  readonly leaseUntil: Date;
  readonly now: Date;
}

export interface SignUpStore {
  /**
   * Writes identity, saga row and idempotency claim in one commit; serializes the requests of one identity.
   */
  claim(command: ClaimSignUp): Promise<SignUpClaim>;
  mark: MarkStep;
  /**
   * Ends the runner's retries of a deployment that the chain refused: each costs fees. The person may retry.
   */
  giveUp(saga: SignUpSaga): Promise<void>;
  /** Leases sagas whose lease has ended. */
  leaseAbandoned(now: Date, leaseUntil: Date, limit: number): Promise<SignUpSaga[]>;
}
