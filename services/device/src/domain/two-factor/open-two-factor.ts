import { AppError, uuidv4, uuidv7 } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import { faultPoint } from "../../fault-points.ts";
import { requireRoom } from "../devices/device-limit.ts";
import { findTwoFactor } from "./find-two-factor.ts";
import type { AccountRequests, TwoFactorPorts } from "./ports.ts";
import type { TwoFactor } from "./two-factor.ts";
import { type TwoFactorView, viewTwoFactor } from "./two-factor-view.ts";

export interface OpenTwoFactor
  extends Pick<TwoFactor, "id" | "accountId" | "chainName" | "app" | "userKey" | "signIn" | "expiresAt"> {
  /** The recovery key has signed in to the account: rejections do not close it. */
  recovering: boolean;
  /** Of the call, for its events. */
  requestId: string;
}

export interface OpenTwoFactorOptions extends TwoFactorPorts {
  limits: {
    /** The most requests of one account that wait at once. */
    pending: number;
    /** After so many rejections by devices within a day the account takes no more requests. */
    rejections: number;
  };
  /** The most live devices of one account. */
  maxDevices: number;
  /** Where an address is, "" where nobody knows; the asker's word for it is not taken. */
  locate?: (ip: string) => string;
}

/** How long rejections count, in milliseconds. */
export const CLOSED_FOR_MS = 24 * 60 * 60 * 1000;

/** The longest that a request may wait, in milliseconds; auth gives it as long as the ephemeral token. */
const LONGEST_MS = 60 * 60 * 1000;

/** Errors: InvalidRequest. */
function requireSoon(expiresAt: Date, now: Date): void {
  const left = expiresAt.getTime() - now.getTime();
  if (left > 0 && left <= LONGEST_MS) return;
  throw new AppError("InvalidRequest", {
    fields: [{ pointer: "/expiresAt", detail: "is not within the next hour" }],
  });
}

/**
 * Opens a request for a new device's key; the same id again gives the same request. The device used last is asked.
 * Errors: TwoFactorAuthClosed; RateLimited; TooManyDevices; InvalidRequest where the id is another account's or the end is not within an hour; what preparing the message says.
 */
export function openTwoFactor(options: OpenTwoFactorOptions) {
  const { requests, keyAdditions, clock } = options;

  async function admit(account: AccountRequests, now: Date, recovering: boolean): Promise<void> {
    const reopenedAt = await account.reopenedAt();
    const since = Math.max(now.getTime() - CLOSED_FOR_MS, reopenedAt?.getTime() ?? 0);
    const rejected = await account.countRejectedAfter(new Date(since));
    if (!recovering && rejected >= options.limits.rejections) throw new AppError("TwoFactorAuthClosed");
    const waiting = await account.pendingUntil(now);
    if (waiting.length < options.limits.pending) return;
    const seconds = Math.ceil((waiting[0]!.getTime() - now.getTime()) / 1000);
    throw new AppError("RateLimited", { retryAfterSeconds: Math.max(1, seconds) });
  }

  /**
   * The opener sees the push token that it sent, and none that the account has: nothing proves yet that its
   * keys are its own.
   */
  const viewForOpener = async (request: TwoFactor): Promise<TwoFactorView> => ({
    ...(await viewTwoFactor(options, request)),
    pushTokens: { src: request.userKey.device.pushToken, dest: "" },
  });

  return async ({ requestId: callId, recovering, ...wish }: OpenTwoFactor): Promise<TwoFactorView> => {
    const { id, accountId, chainName, userKey } = wish;
    const present = await requests.find(accountId, id);
    if (present) return viewForOpener(await findTwoFactor(options, accountId, id, callId));

    requireSoon(wish.expiresAt, clock.now());
    // Asked before the chain is: refusals cost nothing. Decided again below, alone with the account.
    await requests.withAccount(accountId, (account) => admit(account, clock.now(), recovering));
    const live = await options.devices.listLive(accountId);
    requireRoom(live, userKey.deviceKey, options.maxDevices);
    const message = await keyAdditions.prepare({ accountId, chainName, userKey: userKey.accountKey }, new Uint8Array());
    const asked = live.find(({ publicKey }) => !samePublicKey(publicKey, userKey.deviceKey));

    const now = clock.now();
    const request: TwoFactor = {
      ...wish,
      signIn: { ...wish.signIn, location: options.locate?.(wish.signIn.ip) ?? "" },
      srcDeviceId: uuidv7(clock),
      destDeviceId: asked?.id ?? null,
      status: "pending",
      requestId: uuidv4(),
      message,
      requestedAt: now,
      attemptId: null,
      attemptStartedAt: null,
      approvedBy: null,
      rejectedAt: null,
      rejectedInRecovery: false,
      rejectedBy: null,
      result: null,
      sealedAt: null,
      keyIndex: null,
      wrongApprovals: 0,
      settleAt: null,
    };
    const opened = await requests.withAccount(accountId, async (account) => {
      if (await account.has(id)) return undefined; // the same call came twice, and the other was first
      await admit(account, now, recovering);
      if (await account.insert(request, { occurredAt: now, requestId: callId })) return request;
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/id", detail: "is taken" }] });
    });
    await faultPoint("request committed");
    return viewForOpener(opened ?? (await findTwoFactor(options, accountId, id, callId)));
  };
}
