import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { expect, it, vi } from "vitest";
import { onTwoFactorChanged } from "./two-factor-changed.ts";

const clock = new FixedClock();
const { signal } = new AbortController();
const accountId = uuidv7(clock);
const id = uuidv7(clock);
const delivered = (change: Partial<Event>) => ({
  subject: "",
  attempt: 1,
  event: Event.create({ id: uuidv7(clock), accountId, requestId: "r", ...change }),
});

const watch = () => {
  const enroll = vi.fn(async () => undefined);
  const endToken = vi.fn(async () => undefined);
  return { enroll, endToken, handle: onTwoFactorChanged({ enroll, endToken, signal }) };
};

it.each(["approved", "sealed"])("enrolls after the event %s", async (status) => {
  const { enroll, endToken, handle } = watch();
  await handle(delivered({ twoFactorChanged: { id, status } }));
  expect(enroll).toHaveBeenCalledExactlyOnceWith(accountId, id, { requestId: "r", signal });
  expect(endToken).not.toHaveBeenCalled();
});

it.each(["rejected", "expired", "finished", "failed"])("ends the token of a request that is %s", async (status) => {
  const { enroll, endToken, handle } = watch();
  await handle(delivered({ twoFactorChanged: { id, status } }));
  expect(endToken).toHaveBeenCalledExactlyOnceWith(accountId, id);
  expect(enroll).not.toHaveBeenCalled();
});

it.each<Partial<Event>>([
  ...["pending", ""].map((status) => ({ twoFactorChanged: { id, status } })),
  ...["approved", "rejected"].flatMap((status) => [
    { twoFactorChanged: { id: "1", status } },
    { accountId: "1", twoFactorChanged: { id, status } },
  ]),
  {},
])("leaves everything else alone (%#)", async (change) => {
  const { enroll, endToken, handle } = watch();
  await handle(delivered(change));
  expect(enroll).not.toHaveBeenCalled();
  expect(endToken).not.toHaveBeenCalled();
});

it("lets an event come again whose request could not be enrolled", async () => {
  const { handle, enroll } = watch();
  enroll.mockRejectedValueOnce(new Error("not yet"));
  const event = delivered({ twoFactorChanged: { id, status: "sealed" } });
  await expect(handle(event)).rejects.toThrow("not yet");
});
