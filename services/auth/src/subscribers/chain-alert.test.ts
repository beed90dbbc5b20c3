import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { expect, it, vi } from "vitest";
import { onChainAlert } from "./chain-alert.ts";

const clock = new FixedClock();
const [id, accountId] = [uuidv7(clock), uuidv7(clock)];
const chainAlert = {
  chainName: "c",
  transactionId: "ab".repeat(32),
  eventIndex: 0,
  eventType: "flow.AccountKeyAdded",
  height: 5n,
  kind: "keys",
  freezes: true,
};
const delivered = (change: Partial<Event>) => ({
  subject: "",
  attempt: 1,
  event: Event.create({ id, accountId, requestId: "", ...change }),
});

it("holds the account for an alert that freezes", async () => {
  const place = vi.fn(async () => undefined);
  await onChainAlert({ holds: { place }, clock })(delivered({ chainAlert }));
  const { chainName, transactionId, eventType } = chainAlert;
  const hold = { alertId: id, accountId, chainName, transactionId, eventType };
  expect(place).toHaveBeenCalledExactlyOnceWith(hold, clock.now());
});

it.each([
  ["one that only reports", { chainAlert: { ...chainAlert, freezes: false } }],
  ["another event", {}],
  ["one of no account", { chainAlert, accountId: "all" }],
])("does nothing for %s", async (_, change) => {
  const place = vi.fn(async () => undefined);
  await onChainAlert({ holds: { place }, clock })(delivered(change));
  expect(place).not.toHaveBeenCalled();
});
