import { expect, test } from "vitest";
import { outboxRow } from "./outbox-row.ts";

const input = {
  service: "device",
  accountId: "019a0000-0000-7000-8000-000000000001",
  event: "device-registered",
  message: Buffer.from("event"),
  id: "019a0000-0000-7000-8000-000000000002",
  createdAt: new Date(0),
};

test("the subject names service, account and event", () => {
  expect(outboxRow(input)).toEqual({
    id: input.id,
    subject: `cs.v1.device.${input.accountId}.device-registered`,
    payload: Uint8Array.from(input.message),
    createdAt: input.createdAt,
    accountId: input.accountId,
  });
});

test("an event of no account is on the shard of zeros", () => {
  const { subject, accountId } = outboxRow({ ...input, accountId: "all" });
  expect(subject).toBe("cs.v1.device.all.device-registered");
  expect(accountId).toBe("00000000-0000-0000-0000-000000000000");
});

test.each(["", "a.b", "*", ">", "a b", "A", "-a"])("%j cannot be part of a subject", (part) => {
  for (const name of ["service", "accountId", "event"]) expect(() => outboxRow({ ...input, [name]: part })).toThrow();
});
