import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { recordDeviceUse } from "../domain/devices/record-device-use.ts";

/** Handles auth's session-created: records the use of the device. Idempotent, in any order. */
export const onSessionCreated =
  (record: ReturnType<typeof recordDeviceUse>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, sessionCreated } = event;
    // An incomplete event stays so when it is delivered again.
    if (!sessionCreated || !occurredAt || !isUuid(accountId)) return;
    await record({ accountId, publicKey: publicKeyFromProto(sessionCreated.deviceKey), usedAt: occurredAt });
  };
