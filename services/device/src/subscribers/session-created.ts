import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { recordDeviceUse } from "../domain/devices/record-device-use.ts";

/** Returns what auth's session-created does to its device: see recordDeviceUse. */
export const recordSession =
  (record: ReturnType<typeof recordDeviceUse>) =>
  ({ accountId, occurredAt, sessionCreated }: DeliveredEvent["event"]): Promise<Date | undefined> =>
    record({ accountId, publicKey: publicKeyFromProto(sessionCreated?.deviceKey), usedAt: occurredAt! });
