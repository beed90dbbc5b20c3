import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import type { DeviceStore } from "../domain/devices/device-store.ts";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import { toAccountEvent } from "../events/account-event.ts";
import type { pushDevices } from "./push-devices.ts";
import { isPushKind } from "./push-kinds.ts";

/** The lifetime of a request, after which a push is of no use. */
const PUSH_LIFETIME_MS = 5 * 60_000;

interface OnTwoFactorChangedOptions {
  devices: Pick<DeviceStore, "listLive">;
  requests: Pick<TwoFactorStore, "find">;
  push: ReturnType<typeof pushDevices>;
}

/**
 * Pushes the status of a request to the account's devices. A new request is visible on the destination
 * device; on the others, and for later statuses, the push only wakes the app. Pushes of one request replace
 * each other.
 */
export const onTwoFactorChanged =
  ({ devices, requests, push }: OnTwoFactorChangedOptions) =>
  async ({ subject, event }: DeliveredEvent): Promise<void> => {
    const seen = toAccountEvent(0, subject, event);
    const { id, accountId, twoFactorChanged } = event;
    // An incomplete event is dropped: another delivery would not complete it.
    if (seen === undefined || !isPushKind(seen.type) || twoFactorChanged === undefined) return;
    if (!isUuid(accountId) || !isUuid(id)) return;
    const isPending = twoFactorChanged.status === "pending";
    const request = await requests.find(accountId, twoFactorChanged.id);
    if (request === undefined || (isPending && request.status !== "pending")) return;
    await push(await devices.listLive(accountId), {
      eventId: id,
      accountId,
      kind: seen.type,
      twoFactorId: request.id,
      collapseKey: request.id,
      expiresAt: new Date(seen.occurredAt.getTime() + PUSH_LIFETIME_MS),
      visibleTo: (device) => isPending && (request.destDeviceId === null || device.id === request.destDeviceId),
    });
  };
