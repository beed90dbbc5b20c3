import { type OutboxRow, outboxRow } from "@countersign/outbox";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/service-kit";
import { v7 } from "uuid";
import type { KeyEvent } from "../domain/ports.ts";

/** The outbox row of an event: subject cs.v1.key.<account id>.<type>. */
export function keyEventRow({ type, registration, occurredAt, requestId }: KeyEvent): OutboxRow {
  const { accountId, chainName, keyIndex } = registration;
  const id = v7();
  const keyRegistered = { accountKey: publicKeyToProto(registration.accountKey), chainName, keyIndex };
  const message = Event.encode({ id, occurredAt, accountId, requestId, keyRegistered }).finish();
  return outboxRow({ service: "key", accountId, event: type, message, id, createdAt: occurredAt });
}
