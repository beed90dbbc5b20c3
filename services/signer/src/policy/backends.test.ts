import { FixedClock } from "@countersign/core/testing";
import { envelopeMessage, payloadMessage } from "@countersign/flow";
import { expect, it } from "vitest";
import { signPaymaster } from "../domain/sign-paymaster.ts";
import { signTransaction } from "../domain/sign-transaction.ts";
import { asked, byDevice, refusal, signing, state, token, tx } from "../testing/policy-fixture.ts";
import { backendsFile, createBackendCheck } from "./backends.ts";

const registered = new Map([
  ["shop", { apps: new Set(["demo", "game"]), signaturesPerMinute: 2 }],
  ["game-server", { apps: new Set(["game"]) }],
  ["treasury", { apps: new Set(["demo"]), accounts: new Set(["01900000-0000-7000-8000-0000000000aa"]) }],
]);
const clock = new FixedClock("2026-11-20T10:00:15Z");
const check = createBackendCheck((caller) => registered.get(caller), clock);

it("a backend asks for users of its own apps; our services for everybody", () => {
  const refused = { reason: "SigningRefused", metadata: { reason: "NotYourApp" } };
  expect(() => check("game-server", token)).toThrow(expect.objectContaining(refused));
  expect(() => check("game-server", { ...token, appId: "game" })).not.toThrow();
  expect(() => check("gateway", token)).not.toThrow();
});

it("it is refused as authorizer and as paymaster for users of other apps", async () => {
  const limited = { ...signing, checkBackend: createBackendCheck(() => ({ apps: new Set(["another"]) }), clock) };
  const paying = { ...limited, paymasters: new Set<string>(), passkeys: { relyingPartiesOf: () => [] } };
  expect(await refusal(signTransaction(limited)(asked(payloadMessage(tx()))))).toBe("NotYourApp");
  state.records = [];
  expect(await refusal(signPaymaster(paying)(asked(envelopeMessage(byDevice()))))).toBe("NotYourApp");
});

// Peers and backends are read from one file, each for itself: one of the two may be of its earlier content.
it("a caller that is neither registered nor one of our services asks for nobody", () => {
  const refused = { reason: "SigningRefused", metadata: { reason: "NotYourApp" } };
  expect(() => check("new-shop", token)).toThrow(expect.objectContaining(refused));
  expect(() => check("account", token)).not.toThrow();
});

it("and for the accounts that are named, where any are", () => {
  const refused = { reason: "SigningRefused", metadata: { reason: "NotYourAccount" } };
  expect(() => check("treasury", token)).toThrow(expect.objectContaining(refused));
  const named = { ...token, accountId: "01900000-0000-7000-8000-0000000000aa" };
  expect(() => check("treasury", named)).not.toThrow();
  expect(() => check("treasury", { ...named, appId: "game" })).toThrow(
    expect.objectContaining({ metadata: { reason: "NotYourApp" } }),
  );
});

it("and for so many signatures a minute", () => {
  check("shop", token);
  check("shop", { ...token, accountId: "01900000-0000-7000-8000-0000000000aa" });
  expect(() => check("shop", token)).toThrow(expect.objectContaining({ reason: "RateLimited", retryAfterSeconds: 45 }));
  clock.advance(45_000);
  expect(() => check("shop", token)).not.toThrow();
  // Others' minutes are their own; our services have none.
  for (let i = 0; i < 5; i++) check("game-server", { ...token, appId: "game" });
});

it("knows the apps of backends, and none of our services", () => {
  const backendOf = backendsFile.parse({ backends: { shop: { apps: ["a", "b"] } }, rpcs: {} });
  expect([...(backendOf("shop")?.apps ?? [])]).toEqual(["a", "b"]);
  expect(backendOf("gateway")).toBeUndefined();
  expect(backendOf("shop")?.accounts).toBeUndefined();
  const account = "01900000-0000-7000-8000-000000000001";
  const limited = { shop: { apps: ["a"], accounts: [account] } };
  expect(backendsFile.parse({ backends: limited })("shop")?.accounts).toEqual(new Set([account]));
  expect(() => backendsFile.parse({ backends: { shop: { apps: ["a"], accounts: [] } } })).toThrow();
  expect(() => backendsFile.parse({ backends: { shop: { apps: [] } } })).toThrow();
  expect(backendsFile.parse({})("shop")).toBeUndefined();
});

it("a backend has the budgets of its entry", () => {
  const withBudgets = (budgets: object[]) => () => backendsFile.parse({ backends: { shop: { apps: ["a"], budgets } } });
  expect(withBudgets([{ windowSeconds: 60, feesFlow: 0.5 }])()("shop")?.budgets).toEqual([
    { windowSeconds: 60, fees: 50_000_000 },
  ]);
  expect(withBudgets([{ windowSeconds: 60 }])).toThrow("limits nothing");
  expect(
    withBudgets([
      { windowSeconds: 60, count: 1 },
      { windowSeconds: 60, count: 2 },
    ]),
  ).toThrow("two budgets");
});
