import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { AccessStore } from "../domain/access/revoked-access.ts";

/** Handles device-removed: ends the device's access where the request crashed before it did. Idempotent. */
export const onDeviceRemoved =
  (access: Pick<AccessStore, "cutOff">) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, requestId, deviceRemoved } = event;
    if (!deviceRemoved || !occurredAt || !isUuid(accountId)) return;
    const deviceKey = publicKeyFromProto(deviceRemoved.deviceKey);
    await access.cutOff({ accountId, deviceKey, removedAt: occurredAt, requestId });
  };
