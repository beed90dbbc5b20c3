import type { DeviceAttributes } from "@countersign/core";
import { eventRow, type OutboxRow } from "@countersign/events";
import type { PublicKey } from "@countersign/keys";
import type { EventContext } from "../domain/two-factor/ports.ts";
import type { EnrollingKey, TwoFactor, TwoFactorStatus } from "../domain/two-factor/two-factor.ts";
import type { Guard, Step, TwoFactorEventStatus } from "../domain/two-factor/two-factor-state.ts";
import type { Prisma, TwoFactor as Row } from "./generated/client.ts";

const keyOf = (algorithm: string, publicKey: string): PublicKey => ({
  algorithm: algorithm as PublicKey["algorithm"],
  publicKey,
});

export function toTwoFactor({ appId, appName, email, ip, location, resultTxId, resultRefUrl, ...row }: Row): TwoFactor {
  const { userKeyType, accountKeyAlgorithm, accountKey, deviceKeyAlgorithm, deviceKey, device, status, ...rest } = row;
  return {
    ...rest,
    app: { appId, appName },
    userKey: {
      type: userKeyType as EnrollingKey["type"],
      accountKey: keyOf(accountKeyAlgorithm, accountKey),
      deviceKey: keyOf(deviceKeyAlgorithm, deviceKey),
      device: device as unknown as DeviceAttributes,
    },
    signIn: { email, ip, location },
    status: status as TwoFactorStatus,
    result: resultTxId === null ? null : { id: resultTxId, refUrl: resultRefUrl ?? "" },
  };
}

export function toRow({ app, userKey, signIn, result, ...rest }: TwoFactor): Prisma.TwoFactorUncheckedCreateInput {
  return {
    ...rest,
    ...app,
    ...signIn,
    userKeyType: userKey.type,
    accountKeyAlgorithm: userKey.accountKey.algorithm,
    accountKey: userKey.accountKey.publicKey,
    deviceKeyAlgorithm: userKey.deviceKey.algorithm,
    deviceKey: userKey.deviceKey.publicKey,
    device: { ...userKey.device },
    message: Uint8Array.from(rest.message),
    resultTxId: result?.id ?? null,
    resultRefUrl: result?.refUrl ?? null,
  };
}

/**
 * Returns a guard as a condition of the database; guardHolds of two-factor-state.ts is the same in memory.
 */
export function whereOf(when: Guard): Prisma.TwoFactorWhereInput {
  return {
    status: when.status,
    ...(when.attemptId === undefined ? {} : { attemptId: when.attemptId }),
    ...(when.messageId === undefined ? {} : { messageId: when.messageId }),
    ...(when.sealed === undefined ? {} : { sealedAt: when.sealed ? { not: null } : null }),
    AND: [
      ...(when.liveAt === undefined ? [] : [{ expiresAt: { gt: when.liveAt } }]),
      ...(when.dueBy === undefined ? [] : [{ expiresAt: { lte: when.dueBy } }]),
    ],
  };
}

export function changesOf({ result, message, ...set }: Step["set"]): Prisma.TwoFactorUncheckedUpdateManyInput {
  return {
    ...set,
    ...(message === undefined ? {} : { message: Uint8Array.from(message) }),
    ...(result === undefined ? {} : { resultTxId: result?.id ?? null, resultRefUrl: result?.refUrl ?? null }),
  };
}

/** Returns the outbox row of a request's new status: subject cs.v1.device.<account id>.two-factor-changed. */
export const twoFactorEventRow = (
  { id, accountId }: Pick<TwoFactor, "id" | "accountId">,
  status: TwoFactorEventStatus,
  context: EventContext,
): OutboxRow =>
  eventRow("device", "two-factor-changed", { ...context, accountId }, { twoFactorChanged: { id, status } });
