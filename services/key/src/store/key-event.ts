import { eventRow, type OutboxRow } from "@countersign/events";
import type { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import type { AccountLeft, KeyEvent } from "../domain/ports.ts";

type Payload = Pick<Event, "keyRegistered" | "keyRevoked" | "keyDiscovered" | "accountLeft">;

function payloadOf(event: KeyEvent | AccountLeft): Payload {
  if (event.type === "account-left") return { accountLeft: {} };
  const { chainName, keyIndex, weight, kind, deviceKey } = event.registration;
  const key = { accountKey: publicKeyToProto(event.registration.accountKey), chainName, keyIndex };
  if (event.type === "key-registered") return { keyRegistered: key };
  if (event.type === "key-discovered") return { keyDiscovered: { ...key, weight } };
  const device = kind === "user" ? publicKeyToProto(deviceKey) : undefined;
  return { keyRevoked: { ...key, deviceKey: device, lastOfDevice: event.lastOfDevice ?? false } };
}

/** Returns the outbox row of an event: subject cs.v1.key.<account id>.<type>. */
export function keyEventRow(event: KeyEvent | AccountLeft): OutboxRow {
  const { type, occurredAt } = event;
  const accountId = event.type === "account-left" ? event.accountId : event.registration.accountId;
  const requestId = event.type === "account-left" ? "" : event.requestId;
  return eventRow("key", type, { accountId, occurredAt, requestId }, payloadOf(event));
}
