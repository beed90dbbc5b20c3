import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { retireDevice } from "../domain/devices/retire-device.ts";
import { faultPoint } from "../fault-points.ts";

/** key's key-revoked: a device that has no other key of the account goes. Bears the same event twice, and late. */
export const onKeyRevoked =
  (retire: ReturnType<typeof retireDevice>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, requestId, keyRevoked } = event;
    if (!keyRevoked?.lastOfDevice || !keyRevoked.deviceKey || !occurredAt || !isUuid(accountId)) return;
    const deviceKey = publicKeyFromProto(keyRevoked.deviceKey);
    await faultPoint("revocation heard of");
    await retire({ accountId, deviceKey, revokedAt: occurredAt, requestId });
    await faultPoint("revocation followed");
  };
