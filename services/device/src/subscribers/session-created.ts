import { isUuid } from "@countersign/core";
import type { DeliveredEvent } from "@countersign/events";
import { publicKeyFromProto } from "@countersign/rpc";
import type { noteDeviceUsed } from "../domain/devices/record-device-use.ts";

/** auth's session-created: the device that signed in was used. Bears the same event twice, and late. */
export const onSessionCreated =
  (note: ReturnType<typeof noteDeviceUsed>) =>
  async ({ event }: DeliveredEvent): Promise<void> => {
    const { accountId, occurredAt, sessionCreated } = event;
    // Coming again would not make it whole.
    if (!sessionCreated || !occurredAt || !isUuid(accountId)) return;
    await note({ accountId, publicKey: publicKeyFromProto(sessionCreated.deviceKey), usedAt: occurredAt });
  };
