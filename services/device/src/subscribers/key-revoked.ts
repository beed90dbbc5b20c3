import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { retireDevice } from "../domain/devices/retire-device.ts";

/** Handles key's key-revoked: removes a device whose last key it was. Idempotent, in any order. */
export const onKeyRevoked =
  (retire: ReturnType<typeof retireDevice>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, requestId, keyRevoked } = event;
    if (!keyRevoked?.lastOfDevice || !keyRevoked.deviceKey || !occurredAt || !isUuid(accountId)) return;
    const deviceKey = publicKeyFromProto(keyRevoked.deviceKey);
    await retire({ accountId, deviceKey, revokedAt: occurredAt, requestId });
  };
