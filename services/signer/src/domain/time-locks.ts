import { createHash } from "node:crypto";
import { AppError, type Clock, type VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { faultPoint } from "../fault-points.ts";
import type { Binding } from "../policy/account.ts";
import { hasSigned } from "../policy/signatures.ts";
import type { Template } from "../policy/template.ts";
import { type DelayPolicy, delayOf, requireFreshLogin } from "../policy/time-lock.ts";
import { type AddedKeys, ageOfKey, findAdded, revokesAnotherKey } from "./added-keys.ts";

/** Something that was asked for and is signed after a delay: one for each account, chain and operation. */
export interface TimeLock {
  /** UUIDv7; another request of the same operation is another one. */
  readonly id: string;
  readonly accountId: string;
  readonly chainName: string;
  /** The template. */
  readonly operation: string;
  /** SHA-256 of script and arguments, hex: only the same request is granted. */
  readonly requestHash: string;
  readonly startedAt: Date;
  readonly availableAt: Date;
  /** After it the delay begins anew. */
  readonly lapsesAt: Date;
  readonly cancelledAt: Date | null;
  /** When the first of an unbroken row of requests of this operation began. */
  readonly contestedSince: Date;
}

export interface TimeLockStore {
  /**
   * The lock that stands for a wish: the one that is there where it is about the same request and has neither lapsed nor was cancelled so long ago that a new one may
   * begin; otherwise the wish itself, which takes its place, with its event in one commit.
   */
  ask(wish: TimeLock, requestId: string): Promise<TimeLock>;
  /** What waits, is granted or was cancelled, newest first. */
  list(accountId: string, now: Date): Promise<TimeLock[]>;
  /** Cancels with its event; gives what stands there then, undefined where there is none. */
  cancel(accountId: string, id: string, now: Date, requestId: string): Promise<TimeLock | undefined>;
}

/** Keys that became an account's recovery key with our signature; they are never forgotten. */
export interface RecoveryKeys {
  remember(account: Pick<Binding, "accountId" | "chainName">, key: PublicKey, now: Date): Promise<void>;
  of(account: Pick<Binding, "accountId" | "chainName">): Promise<PublicKey[]>;
}

export interface TimeLockOptions {
  readonly recoveryKeys: RecoveryKeys;
  readonly addedKeys: Pick<AddedKeys, "of">;
  readonly timeLocks: TimeLockStore;
  readonly delays: DelayPolicy;
  readonly clock: Clock;
  readonly newId: () => string;
}

const hashOf = ({ script, arguments: values }: Pick<DecodedMessage, "script" | "arguments">): string =>
  createHash("sha256")
    .update(JSON.stringify([script, ...values]))
    .digest("hex");

/** A cancelled request stays refused for as long as it would have waited. */
export const refusedUntil = ({ startedAt, availableAt, cancelledAt }: TimeLock): Date | undefined =>
  cancelledAt === null ? undefined : new Date(cancelledAt.getTime() + (availableAt.getTime() - startedAt.getTime()));

/** A request belongs to the row of the one before it when it follows its end within this time. */
const CONTEST_GAP_MS = 7 * 24 * 3_600_000;

/** The wish as it takes the place of what is there. */
export function succeeding(known: TimeLock | null | undefined, wish: TimeLock): TimeLock {
  if (!known) return wish;
  const end = refusedUntil(known) ?? known.lapsesAt;
  const isOfRow = wish.startedAt.getTime() < end.getTime() + CONTEST_GAP_MS;
  return isOfRow ? { ...wish, contestedSince: known.contestedSince } : wish;
}

/** Whether a lock still says something about the same request. */
export const isStanding = (lock: TimeLock, now: Date): boolean => now < (refusedUntil(lock) ?? lock.lapsesAt);

/**
 * Lets a template pass whose delay is over, and starts the delay of one that is asked for the first time. Errors: LoginTooOld, TimeLockRequired with
 * `availableAt`, TimeLockCancelled.
 */
export const requireDelay =
  ({ timeLocks, recoveryKeys, addedKeys, delays, clock, newId }: TimeLockOptions) =>
  async (
    message: DecodedMessage,
    template: Template | undefined,
    token: VerifiedToken,
    account: Binding,
  ): Promise<void> => {
    if (!template) return;
    const now = clock.now();
    const signed = template.name === "add-user-key" && message.payloadSignatures.length > 0;
    const keyAgeMs = async () => ageOfKey(findAdded(await addedKeys.of(account), token.accountKey.publicKey), now);
    const by = {
      scope: token.scope,
      recoveryKeySigned: signed && hasSigned(message, await recoveryKeys.of(account)),
      ...(revokesAnotherKey(template, token) && { keyAgeMs: await keyAgeMs() }),
    };
    const age = account.boundAt && now.getTime() - account.boundAt.getTime();
    const delay = delayOf(template, by, age, delays);
    if (!delay) return;
    if (delay.needsFreshLogin) requireFreshLogin(token.authTime, now, delays);
    const { change } = template;
    const become = change.template === "add-recovery-key" || change.template === "replace-recovery-key";
    // Before the signature leaves: what it signs must be told from a device's ever after. Not sooner: a device's key could be named, and would have to wait.
    const grant = async () => {
      if (!become) return;
      await recoveryKeys.remember(account, change.newKey, now);
      await faultPoint("recovery key remembered");
    };
    if (delay.delayMs === 0) return void (await grant());
    const availableAt = new Date(now.getTime() + delay.delayMs);
    const wish: TimeLock = {
      id: newId(),
      accountId: account.accountId,
      chainName: account.chainName,
      operation: template.name,
      requestHash: hashOf(message),
      startedAt: now,
      availableAt,
      lapsesAt: new Date(availableAt.getTime() + delays.goodForMs),
      cancelledAt: null,
      contestedSince: now,
    };
    const lock = await timeLocks.ask(wish, "");
    if (lock.id === wish.id) await faultPoint("delay started");
    if (lock.cancelledAt !== null) throw new AppError("TimeLockCancelled");
    if (now >= lock.availableAt) return void (await grant());
    const seconds = Math.ceil((lock.availableAt.getTime() - now.getTime()) / 1000);
    throw new AppError("TimeLockRequired", {
      retryAfterSeconds: seconds,
      metadata: { availableAt: lock.availableAt.toISOString(), timeLockId: lock.id },
    });
  };

export interface CancelTimeLock {
  readonly accountId: string;
  readonly id: string;
  /** When the device that cancels came to the account: one that came after the delay began cancels nothing. */
  readonly deviceCreatedAt: Date;
  readonly requestId: string;
}

/**
 * Cancels what waits, from a device that was there before. The same again changes nothing. A device that a recovery key lets in is kept out for `contestMs`, and no
 * longer: a thief's old phone must not do so for good. Errors: TimeLockNotFound, DeviceTooYoung, TimeLockContested.
 */
export const cancelTimeLock =
  ({
    timeLocks,
    delays,
    clock,
  }: Pick<TimeLockOptions, "timeLocks" | "clock"> & { delays: Pick<DelayPolicy, "contestMs"> }) =>
  async ({ accountId, id, deviceCreatedAt, requestId }: CancelTimeLock): Promise<TimeLock> => {
    const now = clock.now();
    const known = (await timeLocks.list(accountId, now)).find((lock) => lock.id === id);
    if (!known) throw new AppError("TimeLockNotFound");
    if (deviceCreatedAt >= known.startedAt) throw new AppError("DeviceTooYoung");
    const contestedMs = now.getTime() - known.contestedSince.getTime();
    if (known.operation === "add-user-key" && contestedMs >= delays.contestMs) throw new AppError("TimeLockContested");
    const cancelled = await timeLocks.cancel(accountId, id, now, requestId);
    if (!cancelled) throw new AppError("TimeLockNotFound");
    return cancelled;
  };
