import { Event } from "@countersign/proto/events/v1/events.ts";
import { FixedClock, uuidv7 } from "@countersign/service-kit";
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

it.each(["approved", "sealed"])("looks at a request that is told to be %s", async (status) => {
  const admit = vi.fn(async () => undefined);
  await onTwoFactorChanged(admit, signal)(delivered({ twoFactorChanged: { id, status } }));
  expect(admit).toHaveBeenCalledExactlyOnceWith(accountId, id, { requestId: "r", signal });
});

it.each<Partial<Event>>([
  ...["pending", "rejected", "expired", "finished", "failed", ""].map((status) => ({
    twoFactorChanged: { id, status },
  })),
  { twoFactorChanged: { id: "1", status: "approved" } },
  { accountId: "1", twoFactorChanged: { id, status: "approved" } },
  {},
])("leaves everything else alone (%#)", async (change) => {
  const admit = vi.fn(async () => undefined);
  await onTwoFactorChanged(admit, signal)(delivered(change));
  expect(admit).not.toHaveBeenCalled();
});

it("lets an event come again whose request could not be admitted", async () => {
  const admit = async () => {
    throw new Error("not yet");
  };
  const event = delivered({ twoFactorChanged: { id, status: "sealed" } });
  await expect(onTwoFactorChanged(admit, signal)(event)).rejects.toThrow("not yet");
});
