import { type OutboxRow, outboxRow } from "@countersign/events";
import type { PublicKey } from "@countersign/keys";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { v7 } from "uuid";
import type { DeviceAttributes } from "../domain/devices/device.ts";
import type { EventContext } from "../domain/two-factor/ports.ts";
import type { EnrollingKey, TwoFactor, TwoFactorStatus } from "../domain/two-factor/two-factor.ts";
import type { Guard, Step, TwoFactorEventStatus } from "../domain/two-factor/two-factor-state.ts";
import type { Prisma, TwoFactor as Row } from "./generated/client.ts";

const keyOf = (algorithm: string, publicKey: string): PublicKey => ({
  algorithm: algorithm as PublicKey["algorithm"],
  publicKey,
});

export function toTwoFactor(row: Row): TwoFactor {
  const { appId, appName, userKeyType, accountKeyAlgorithm, accountKey, deviceKeyAlgorithm, deviceKey, device } = row;
  const { email, ip, location, resultTxId, resultRefUrl, status, ...rest } = row;
  return {
    id: rest.id,
    accountId: rest.accountId,
    chainName: rest.chainName,
    app: { appId, appName },
    userKey: {
      type: userKeyType as EnrollingKey["type"],
      accountKey: keyOf(accountKeyAlgorithm, accountKey),
      deviceKey: keyOf(deviceKeyAlgorithm, deviceKey),
      device: device as unknown as DeviceAttributes,
    },
    signIn: { email, ip, location },
    srcDeviceId: rest.srcDeviceId,
    destDeviceId: rest.destDeviceId,
    status: status as TwoFactorStatus,
    messageId: rest.messageId,
    message: rest.message,
    requestedAt: rest.requestedAt,
    expiresAt: rest.expiresAt,
    attemptId: rest.attemptId,
    attemptStartedAt: rest.attemptStartedAt,
    approverId: rest.approverId,
    rejectedAt: rest.rejectedAt,
    rejectedInRecovery: rest.rejectedInRecovery,
    rejectedByKey: rest.rejectedByKey,
    result: resultTxId === null ? null : { id: resultTxId, refUrl: resultRefUrl ?? "" },
    sealedAt: rest.sealedAt,
    keyIndex: rest.keyIndex,
    wrongApprovals: rest.wrongApprovals,
    reconcileAt: rest.reconcileAt,
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
export function twoFactorEventRow(
  { id, accountId }: Pick<TwoFactor, "id" | "accountId">,
  status: TwoFactorEventStatus,
  { occurredAt, requestId }: EventContext,
): OutboxRow {
  const eventId = v7();
  const event = { id: eventId, occurredAt, accountId, requestId, twoFactorChanged: { id, status } };
  const message = Event.encode(event).finish();
  const row = { service: "device", accountId, event: "two-factor-changed", message };
  return outboxRow({ ...row, id: eventId, createdAt: occurredAt });
}
