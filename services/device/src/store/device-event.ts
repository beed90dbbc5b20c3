import { eventRow, type OutboxRow } from "@countersign/events";
import { publicKeyToProto } from "@countersign/rpc";
import type { DeviceEvent } from "../domain/devices/device-store.ts";

const payloads = {
  "device-registered": ({ device }: DeviceEvent) => ({
    deviceRegistered: { deviceId: device.id, deviceKey: publicKeyToProto(device.publicKey) },
  }),
  "device-updated": ({ device }: DeviceEvent) => ({ deviceUpdated: { deviceId: device.id } }),
  "device-removed": ({ device }: DeviceEvent) => ({
    deviceRemoved: { deviceId: device.id, deviceKey: publicKeyToProto(device.publicKey) },
  }),
};

/** Returns the outbox row of an event: subject cs.v1.device.<account id>.<type>. */
export function deviceEventRow(event: DeviceEvent): OutboxRow {
  const { type, device, occurredAt, requestId } = event;
  const context = { accountId: device.accountId, occurredAt, requestId };
  return eventRow("device", type, context, payloads[type](event));
}
