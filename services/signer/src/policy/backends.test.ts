import { FixedClock } from "@countersign/service-kit";
import { expect, it } from "vitest";
import { token } from "../testing/policy-fixture.ts";
import { createBackendCheck } from "./backends.ts";

const registered = new Map([
  ["shop", { apps: new Set(["demo", "game"]), signaturesPerMinute: 2 }],
  ["game-server", { apps: new Set(["game"]) }],
]);
const clock = new FixedClock("2026-11-20T10:00:15Z");
const check = createBackendCheck((caller) => registered.get(caller), clock);

it("a backend asks for users of its own apps; our services for everybody", () => {
  const refused = { reason: "SigningRefused", metadata: { reason: "NotYourApp" } };
  expect(() => check("game-server", token)).toThrow(expect.objectContaining(refused));
  expect(() => check("game-server", { ...token, appId: "game" })).not.toThrow();
  expect(() => check("gateway", token)).not.toThrow();
});

it("and for so many signatures a minute", () => {
  check("shop", token);
  check("shop", token);
  expect(() => check("shop", token)).toThrow(expect.objectContaining({ reason: "RateLimited", retryAfterSeconds: 45 }));
  clock.advance(45_000);
  expect(() => check("shop", token)).not.toThrow();
});
