import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { AccessStore } from "../domain/access/remove-device.ts";

/** Ends the access of a removed device, in case the request that removed it died half-way. Events only take away, so a late or second one does no harm. */
export const onDeviceRemoved =
  (access: AccessStore) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, requestId, deviceRemoved } = event;
    if (!deviceRemoved || !occurredAt || !isUuid(accountId)) return;
    const deviceKey = publicKeyFromProto(deviceRemoved.deviceKey);
    await access.cutOff({ accountId, deviceKey, removedAt: occurredAt, requestId });
  };
