import { Event } from "@countersign/proto/events/v1/events.ts";
import { expect, test } from "vitest";
import { eventRow } from "./outbox-row.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
const context = { id: "019a0000-0000-7000-8000-000000000002", accountId, occurredAt: new Date(0) };
const payload = { deviceUpdated: { deviceId: "device" } };

test("the subject names service, account and event", () => {
  const { payload: encoded, ...row } = eventRow("device", "device-updated", context, payload);
  const { id, occurredAt: createdAt } = context;
  expect(row).toEqual({ id, subject: `cs.v1.device.${accountId}.device-updated`, createdAt, accountId });
  expect(Event.decode(encoded)).toMatchObject({ ...context, requestId: "", traceparent: "", ...payload });
});

test("an event of no account is on the shard of zeros", () => {
  const { accountId: _, ...ofNone } = context;
  const row = eventRow("signer", "audit-checkpoint", ofNone, {});
  expect(row.subject).toBe("cs.v1.signer.all.audit-checkpoint");
  expect(row.accountId).toBe("00000000-0000-0000-0000-000000000000");
  expect(Event.decode(row.payload).accountId).toBe("");
});

test.each(["", "a.b", "*", ">", "a b", "A", "-a"])("%j cannot be part of a subject", (part) => {
  expect(() => eventRow(part, "device-updated", context, {})).toThrow();
  expect(() => eventRow("device", part, context, {})).toThrow();
  expect(() => eventRow("device", "device-updated", { ...context, accountId: part }, {})).toThrow();
});
