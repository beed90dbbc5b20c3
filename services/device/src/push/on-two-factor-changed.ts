import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import { toAccountEvent } from "../events/account-event.ts";
import type { pushDevices } from "./push-devices.ts";
import { isPushKind } from "./push-kinds.ts";

/** Requests live this long; later nobody needs to know. */
const USEFUL_MS = 5 * 60_000;

export interface OnTwoFactorChangedOptions {
  devices: Pick<DeviceStore, "listLive">;
  requests: Pick<TwoFactorStore, "find">;
  push: ReturnType<typeof pushDevices>;
}

/**
 * Tells the devices of an account by push what became of a request: the destination device is asked visibly, the others, and whatever comes
 * later, only wake the app. All messages of one request replace each other.
 */
export const onTwoFactorChanged =
  ({ devices, requests, push }: OnTwoFactorChangedOptions) =>
  async ({ subject, event }: DeliveredEvent): Promise<void> => {
    const seen = toAccountEvent(0, subject, event);
    const { id, accountId, twoFactorChanged } = event;
    // Coming again would not make it whole.
    if (seen === undefined || !isPushKind(seen.type) || twoFactorChanged === undefined || !isUuid(accountId)) return;
    const asked = twoFactorChanged.status === "pending";
    const request = await requests.find(accountId, twoFactorChanged.id);
    if (request === undefined || (asked && request.status !== "pending")) return;
    await push(await devices.listLive(accountId), {
      eventId: id,
      accountId,
      kind: seen.type,
      twoFactorId: request.id,
      collapseKey: request.id,
      expiresAt: new Date(seen.occurredAt.getTime() + USEFUL_MS),
      visibleTo: (device) => asked && (request.destDeviceId === null || device.id === request.destDeviceId),
    });
  };
