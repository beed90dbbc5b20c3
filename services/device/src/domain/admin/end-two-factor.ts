import { type Administrator, AppError, type Clock } from "@countersign/core";
import type { TwoFactor } from "../two-factor/two-factor.ts";
import { rejecting, resuming, type Step } from "../two-factor/two-factor-state.ts";

interface OfTwoFactor {
  readonly accountId: string;
  readonly twoFactorId: string;
}

/** A request as it is after an act, and the act's record. */
export interface ActedOn {
  readonly actionId: string;
  readonly request: TwoFactor;
}

export interface AdminStore {
  find(accountId: string, id: string): Promise<TwoFactor | undefined>;
  /** Takes the step with its record, in one commit; undefined where its guard does not hold. */
  take(by: Administrator, command: string, request: TwoFactor, step: Step): Promise<ActedOn | undefined>;
}

export interface EndTwoFactorOptions {
  readonly admin: AdminStore;
  readonly clock: Clock;
}

async function act(
  { admin }: EndTwoFactorOptions,
  by: Administrator,
  { accountId, twoFactorId }: OfTwoFactor,
  command: string,
  stepOf: (request: TwoFactor) => Step | undefined,
): Promise<ActedOn> {
  const found = await admin.find(accountId, twoFactorId);
  if (!found) throw new AppError("TwoFactorAuthNotFound");
  const step = stepOf(found);
  const taken = step && (await admin.take(by, command, found, step));
  if (!taken) throw new AppError("TwoFactorAuthNotPending", { detail: `The request is ${found.status}` });
  return taken;
}

/**
 * Rejects a request that nobody has begun to approve: nothing of it is on chain. It does not count towards
 * closing the account to new requests. Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending.
 */
export const cancelTwoFactor = (options: EndTwoFactorOptions) => (by: Administrator, of: OfTwoFactor) =>
  act(options, by, of, "key-additions cancel", () => rejecting(options.clock.now(), "administrator", true));

/**
 * Lets the sweeper reconcile an unconfirmed approval at once. Errors: TwoFactorAuthNotFound;
 * TwoFactorAuthNotPending where none is unconfirmed, or it is under way.
 */
export const resumeTwoFactor = (options: EndTwoFactorOptions) => (by: Administrator, of: OfTwoFactor) =>
  act(options, by, of, "key-additions resume", (found) => resuming(found, options.clock.now()));
