import { type OutboxRow, outboxRow } from "@countersign/events";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { v7 } from "uuid";
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
  const { accountId } = device;
  const id = v7();
  const message = Event.encode({ id, occurredAt, accountId, requestId, ...payloads[type](event) }).finish();
  return outboxRow({ service: "device", accountId, event: type, message, id, createdAt: occurredAt });
}
