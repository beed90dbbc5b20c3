import { AppError, DAY_MS, HOUR_MS, invalidField, uuidv4, uuidv7 } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import { requireBelowDeviceLimit } from "../devices/device-limit.ts";
import { expireIfDue, findTwoFactor } from "./find-two-factor.ts";
import type { AccountRequests, KeysOfDevice, TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { type TwoFactorView, viewTwoFactor } from "./two-factor-view.ts";

export interface OpenTwoFactor
  extends Pick<TwoFactor, "id" | "accountId" | "chainName" | "app" | "userKey" | "signIn" | "expiresAt"> {
  /** The account's recovery key has signed in: rejections do not close the account to it. */
  recovering: boolean;
  /** It carries a recovery session's token: others, which need a login only, do not fill its place. */
  byRecoverySession: boolean;
  /** Of the call, for its events. */
  requestId: string;
}

export interface OpenTwoFactorOptions extends TwoFactorPorts {
  limits: {
    /** The most pending requests of one account; a recovery session's have as many places of their own. */
    pending: number;
    /** After this many rejections by devices within a day the account accepts no more requests. */
    rejections: number;
  };
  /** The most live devices of one account. */
  maxDevices: number;
  /**
   * Returns the place of an IP address, or "" where it is unknown; the new device's own statement is not
   * used.
   */
  locate(ip: string): string;
}

/** How long a rejection counts. */
export const REJECTION_COUNTS_MS = DAY_MS;

/** The longest that a request may be pending; auth uses the lifetime of the ephemeral token. */
const MAX_LIFETIME_MS = HOUR_MS;

/** Requires an expiry in the near future. Errors: InvalidRequest. */
function requireSoon(expiresAt: Date, now: Date): void {
  const left = expiresAt.getTime() - now.getTime();
  if (left > 0 && left <= MAX_LIFETIME_MS) return;
  throw invalidField("/expiresAt", "is not within the next hour");
}

/**
 * Opens a request for a new device's key and names the device that was used last as the one to notify.
 * Idempotent by `id`. Errors: TwoFactorAuthClosed; RateLimited; TooManyDevices; KeyAlreadyRegistered;
 * InvalidRequest where the id is another account's or the request would not end within an hour; those of
 * preparing the message.
 *
 * Writes: the request with its event, in one commit; a crash before it leaves nothing.
 * Race: limits are checked and the row is inserted under the account's lock.
 */
export function openTwoFactor(options: OpenTwoFactorOptions) {
  const { requests, keyAdditions, clock } = options;

  async function requireBelowLimits(
    account: AccountRequests,
    now: Date,
    { recovering, byRecoverySession }: Pick<OpenTwoFactor, "recovering" | "byRecoverySession">,
  ): Promise<void> {
    const reopenedAt = await account.reopenedAt();
    const since = Math.max(now.getTime() - REJECTION_COUNTS_MS, reopenedAt?.getTime() ?? 0);
    const rejected = await account.countRejectedAfter(new Date(since));
    if (!recovering && rejected >= options.limits.rejections) throw new AppError("TwoFactorAuthClosed");
    const pending = await account.pendingUntil(now);
    if (pending.length < options.limits.pending * (byRecoverySession ? 2 : 1)) return;
    const seconds = Math.ceil((pending[0]!.getTime() - now.getTime()) / 1000);
    throw new AppError("RateLimited", { retryAfterSeconds: Math.max(1, seconds) });
  }

  /**
   * Rejects one key of another request's device without its other key, as auth does for devices that are on
   * the account: both could be approved. Errors: KeyAlreadyRegistered.
   */
  async function requireWholeDevice(account: AccountRequests, { accountKey, deviceKey }: KeysOfDevice): Promise<void> {
    const claims = await account.claimsOf({ accountKey, deviceKey });
    const isWhole = (claim: KeysOfDevice) =>
      samePublicKey(claim.accountKey, accountKey) && samePublicKey(claim.deviceKey, deviceKey);
    if (claims.length > 0 && !claims.some(isWhole)) throw new AppError("KeyAlreadyRegistered");
  }

  /**
   * Shows the new device the push token that it sent, and none of the account's: nothing proves yet that its
   * keys are its own.
   */
  const viewForNewDevice = async (request: TwoFactor): Promise<TwoFactorView> => ({
    ...(await viewTwoFactor(options, request)),
    pushTokens: { src: request.userKey.device.pushToken, dest: "" },
  });

  return async ({ requestId, recovering, byRecoverySession, ...command }: OpenTwoFactor): Promise<TwoFactorView> => {
    const { id, accountId, chainName, userKey } = command;
    const present = await requests.find(accountId, id);
    if (present) return viewForNewDevice(await expireIfDue(options, present, requestId));

    requireSoon(command.expiresAt, clock.now());
    const by = { recovering, byRecoverySession };
    // First checked before the chain is read, so that refusals cost little; decided below, under the
    // account's lock.
    await requests.withAccount(accountId, (account) => requireBelowLimits(account, clock.now(), by));
    const live = await options.devices.listLive(accountId);
    if (!recovering) requireBelowDeviceLimit(live, userKey.deviceKey, options.maxDevices);
    const addition = { accountId, chainName, userKey: userKey.accountKey, recovering };
    const message = await keyAdditions.prepare(addition, new Uint8Array());
    const notified = live.find(({ publicKey }) => !samePublicKey(publicKey, userKey.deviceKey));

    const now = clock.now();
    const request: TwoFactor = {
      ...command,
      signIn: { ...command.signIn, location: options.locate(command.signIn.ip) },
      srcDeviceId: uuidv7(clock),
      destDeviceId: notified?.id ?? null,
      status: "pending",
      messageId: uuidv4(),
      message,
      requestedAt: now,
      openedInRecovery: recovering,
      attemptId: null,
      attemptStartedAt: null,
      approverId: null,
      rejectedAt: null,
      rejectedInRecovery: false,
      rejectedByKey: null,
      result: null,
      sealedAt: null,
      keyIndex: null,
      wrongApprovals: 0,
      reconcileAt: null,
    };
    const opened = await requests.withAccount(accountId, async (account) => {
      if (await account.has(id)) return undefined; // a concurrent call with the same id came first
      await requireBelowLimits(account, now, by);
      await requireWholeDevice(account, userKey);
      if (await account.insert(request, { occurredAt: now, requestId })) return request;
      throw invalidField("/id", "is taken");
    });
    return viewForNewDevice(opened ?? (await findTwoFactor(options, accountId, id, requestId)));
  };
}
