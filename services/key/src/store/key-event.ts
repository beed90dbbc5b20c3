import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/service-kit";
import { v7 } from "uuid";
import type { KeyEvent } from "../domain/ports.ts";

/** The outbox row of an event: subject cs.v1.key.<account id>.<type>. */
export function keyEventRow({ type, registration, occurredAt, requestId }: KeyEvent) {
  const { accountId, chainName, keyIndex } = registration;
  const id = v7();
  const keyRegistered = { accountKey: publicKeyToProto(registration.accountKey), chainName, keyIndex };
  const message: Event = { id, occurredAt, accountId, requestId, keyRegistered };
  return { id, subject: `cs.v1.key.${accountId}.${type}`, payload: Uint8Array.from(Event.encode(message).finish()) };
}
