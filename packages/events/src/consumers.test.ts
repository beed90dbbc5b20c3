import { expect, it } from "vitest";
import { DURABLE_SETTINGS, type Durable } from "./consumers.ts";

/** With a delivery in five minutes, a week, as long as the stream keeps events. */
const WEEK = (7 * 24 * 60) / 5;

it.each<Durable>([
  "account-account-frozen",
  "auth-chain-alerts",
  "auth-device-removed",
  "auth-key-events",
  "device-key-revoked",
  "key-account-keys-changed",
])("%s takes access away, and drops no event that the stream has", (durable) => {
  expect(DURABLE_SETTINGS.get(durable)?.maxDeliver).toBeGreaterThan(WEEK);
});

it("notices are tried for a day: an owner who learns of a time lock may still cancel it", () => {
  expect(DURABLE_SETTINGS.get("device-notices")?.maxDeliver).toBeGreaterThan(WEEK / 7);
});
