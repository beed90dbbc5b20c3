import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { v7 } from "uuid";
import { expect, it, vi } from "vitest";
import { somePublicKey } from "../testing/samples.ts";
import { onSessionCreated } from "./session-created.ts";

const deliver = (event: Event, note: Parameters<typeof onSessionCreated>[0]) =>
  onSessionCreated(note)({ subject: `cs.v1.auth.${event.accountId}.session-created`, attempt: 1, event });

it("notes the use of the device that signed in", async () => {
  const note = vi.fn(async () => undefined);
  const publicKey = somePublicKey();
  const [deviceKey, accountKey] = [publicKeyToProto(publicKey), publicKeyToProto(somePublicKey())];
  const occurredAt = new Date("2026-11-20T10:00:00.000Z");
  const sessionCreated = { sessionId: v7(), app: undefined, deviceKey, accountKey };
  const event = Event.fromPartial({ id: v7(), accountId: v7(), occurredAt, sessionCreated });
  await deliver(event, note);
  expect(note).toHaveBeenCalledExactlyOnceWith({ accountId: event.accountId, publicKey, usedAt: occurredAt });
});

it("passes over what is no such event", async () => {
  const note = vi.fn(async () => undefined);
  await deliver(Event.fromPartial({ id: v7(), accountId: v7(), occurredAt: new Date() }), note);
  expect(note).not.toHaveBeenCalled();
});
