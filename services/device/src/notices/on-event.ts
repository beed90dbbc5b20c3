import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyFromProto } from "@countersign/rpc";
import type { recordDeviceUse } from "../domain/devices/record-device-use.ts";
import { subjectParts } from "../events/account-event.ts";
import type { DeliveryStore, NoticeKind } from "./ports.ts";
import type { sendNotice } from "./send-notice.ts";

/** Events that are always noticed, with the payload that they must have. */
const ALWAYS: Readonly<Record<string, readonly [kind: NoticeKind, payload: keyof Event]>> = {
  "auth.account-unfrozen": ["unfrozen", "accountFrozen"],
  "auth.time-lock-started": ["unfreeze-asked", "timeLockStarted"],
  "auth.time-lock-cancelled": ["unfreeze-cancelled", "timeLockCancelled"],
  "key.key-discovered": ["unknown-key", "keyDiscovered"],
  "key.account-left": ["account-left", "accountLeft"],
  "signer.time-lock-started": ["time-lock-started", "timeLockStarted"],
  "signer.time-lock-cancelled": ["time-lock-cancelled", "timeLockCancelled"],
};

/** A device that was registered within this time is noticed as a new device and not as a sign-in. */
const JUST_REGISTERED_MS = 10 * 60_000;

export interface OnNoticeEventOptions {
  deliveries: Pick<DeliveryStore, "history">;
  recordUse: ReturnType<typeof recordDeviceUse>;
  send: ReturnType<typeof sendNotice>;
}

/**
 * Sends the notices of events that the account's owner should know at once, and records the use of devices
 * that sign in. Idempotent, in any order.
 */
export function onNoticeEvent({ deliveries, recordUse, send }: OnNoticeEventOptions) {
  const isLaterDevice = async (accountId: string, deviceId: string): Promise<boolean> => {
    const history = await deliveries.history(accountId);
    const own = history.find(({ id }) => id === deviceId);
    return history.some(({ id, createdAt }) => id !== deviceId && (own === undefined || createdAt < own.createdAt));
  };

  const kindOf = async (name: string, event: Event, occurredAt: Date): Promise<NoticeKind | undefined> => {
    const { accountId, deviceRegistered, sessionCreated } = event;
    if (name === "device.device-registered" && deviceRegistered !== undefined) {
      return (await isLaterDevice(accountId, deviceRegistered.deviceId)) ? "new-device" : undefined;
    }
    if (name === "auth.session-created" && sessionCreated !== undefined) {
      const publicKey = publicKeyFromProto(sessionCreated.deviceKey);
      const registeredAt = await recordUse({ accountId, publicKey, usedAt: occurredAt });
      if (sessionCreated.recovery) return "recovery-sign-in";
      const since = occurredAt.getTime() - JUST_REGISTERED_MS;
      return registeredAt && registeredAt.getTime() >= since ? undefined : "new-sign-in";
    }
    // The notice of a chain alert includes its freeze.
    if (name === "auth.account-frozen" && event.accountFrozen !== undefined) {
      return event.accountFrozen.cause === "chain-alert" ? undefined : "frozen";
    }
    if (name === "account.chain-alert" && event.chainAlert !== undefined) {
      return event.chainAlert.freezes ? "changed-and-frozen" : "changed-on-chain";
    }
    const [kind, payload] = ALWAYS[name] ?? [];
    return payload !== undefined && event[payload] !== undefined ? kind : undefined;
  };

  return async ({ subject, event }: DeliveredEvent): Promise<void> => {
    const { id, accountId, occurredAt } = event;
    const parts = subjectParts(subject);
    // An incomplete event stays so when it is delivered again.
    if (parts?.accountId !== accountId || !isUuid(accountId) || !isUuid(id)) return;
    // Also refuses an invalid date.
    if (occurredAt === undefined || !(occurredAt.getTime() >= 0)) return;
    const kind = await kindOf(parts.name, event, occurredAt);
    if (kind !== undefined) await send({ eventId: id, accountId, kind, occurredAt });
  };
}
