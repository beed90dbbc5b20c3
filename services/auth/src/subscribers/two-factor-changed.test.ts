import { FixedClock, uuidv7 } from "@countersign/core";
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
  const admit = vi.fn(async () => undefined);
  const endToken = vi.fn(async () => undefined);
  return { admit, endToken, handle: onTwoFactorChanged({ admit, endToken, signal }) };
};

it.each(["approved", "sealed"])("looks at a request that is told to be %s", async (status) => {
  const { admit, endToken, handle } = watch();
  await handle(delivered({ twoFactorChanged: { id, status } }));
  expect(admit).toHaveBeenCalledExactlyOnceWith(accountId, id, { requestId: "r", signal });
  expect(endToken).not.toHaveBeenCalled();
});

it.each(["rejected", "expired", "finished", "failed"])("ends the token of a request that is %s", async (status) => {
  const { admit, endToken, handle } = watch();
  await handle(delivered({ twoFactorChanged: { id, status } }));
  expect(endToken).toHaveBeenCalledExactlyOnceWith(accountId, id);
  expect(admit).not.toHaveBeenCalled();
});

it.each<Partial<Event>>([
  ...["pending", ""].map((status) => ({ twoFactorChanged: { id, status } })),
  ...["approved", "rejected"].flatMap((status) => [
    { twoFactorChanged: { id: "1", status } },
    { accountId: "1", twoFactorChanged: { id, status } },
  ]),
  {},
])("leaves everything else alone (%#)", async (change) => {
  const { admit, endToken, handle } = watch();
  await handle(delivered(change));
  expect(admit).not.toHaveBeenCalled();
  expect(endToken).not.toHaveBeenCalled();
});

it("lets an event come again whose request could not be admitted", async () => {
  const { handle, admit } = watch();
  admit.mockRejectedValueOnce(new Error("not yet"));
  const event = delivered({ twoFactorChanged: { id, status: "sealed" } });
  await expect(handle(event)).rejects.toThrow("not yet");
});
