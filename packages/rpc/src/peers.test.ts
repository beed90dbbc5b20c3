import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parsePeers } from "./peers.ts";

const row = { callers: ["gateway"], token: "user" as const };

test("the deployed table is valid and allows health to everybody", () => {
  const peers = parsePeers(JSON.parse(readFileSync(new URL("../../../deploy/peers.json", import.meta.url), "utf8")));
  expect(peers.rule("auth.v1.SignUp/SignUp")?.callers).toEqual(new Set(["gateway"]));
  expect(peers.rule("grpc.health.v1.Health/Check")?.callers.has("signer")).toBe(true);
  expect(peers.rule("grpc.health.v1.Health/Check")?.callers.has("*")).toBe(false);
  expect(peers.rule("auth.v1.SignUp/Other")).toBeUndefined();
  expect(peers.rule("rpc.v1.Calls/Stream")?.callers).toEqual(new Set(["gateway", "auth"]));
});

test("modes open scopes, and rows may open more", () => {
  const peers = parsePeers({
    rpcs: {
      "a.v1.A/User": row,
      "a.v1.A/Ephemeral": { ...row, token: "ephemeral" },
      "a.v1.A/Recover": { ...row, scopes: ["recover"] },
      "a.v1.A/Service": { ...row, token: "service" },
    },
  });
  expect(peers.rule("a.v1.A/User")?.scopes).toEqual(new Set(["full"]));
  expect(peers.rule("a.v1.A/Ephemeral")?.scopes).toEqual(new Set(["full", "sign"]));
  expect(peers.rule("a.v1.A/Recover")?.scopes).toEqual(new Set(["full", "recover"]));
  expect(peers.rule("a.v1.A/Service")?.scopes).toEqual(new Set());
});

test.each([
  ["a caller that is not a peer", { peers: ["auth"], rpcs: { "a.v1.A/B": row } }],
  ["everybody as caller", { rpcs: { "a.v1.A/B": { ...row, callers: ["*"] } } }],
  ["everybody as caller of calls", { rpcs: { "rpc.v1.Calls/Stream": { callers: ["*"], token: "service" } } }],
  ["a whole service", { rpcs: { "a.v1.A/*": row } }],
  ["no caller", { rpcs: { "a.v1.A/B": { ...row, callers: [] } } }],
  ["an unknown mode", { rpcs: { "a.v1.A/B": { ...row, token: "any" } } }],
  ["an unknown member", { rpcs: { "a.v1.A/B": { ...row, tokn: "user" } } }],
  ["scopes without a token", { rpcs: { "a.v1.A/B": { ...row, token: "service", scopes: ["full"] } } }],
  ["a name that is no RPC", { rpcs: { "a.v1.A.B": row } }],
])("refuses %s", (_name, table) => {
  expect(() => parsePeers(table)).toThrow();
});

test("knows the apps of backends, and none of our services", () => {
  const rpcs = { "signer.v1.Signing/SignTransaction": { callers: ["gateway", "shop"], token: "user" } };
  const peers = parsePeers({ peers: ["gateway", "shop"], backends: { shop: { apps: ["a", "b"] } }, rpcs });
  expect([...(peers.backend("shop")?.apps ?? [])]).toEqual(["a", "b"]);
  expect(peers.backend("gateway")).toBeUndefined();
  expect(peers.backend("shop")?.accounts).toBeUndefined();
  const account = "01900000-0000-7000-8000-000000000001";
  const limited = { shop: { apps: ["a"], accounts: [account] } };
  expect(parsePeers({ peers: ["gateway", "shop"], backends: limited, rpcs }).backend("shop")?.accounts).toEqual(
    new Set([account]),
  );
  const empty = { shop: { apps: ["a"], accounts: [] } };
  expect(() => parsePeers({ peers: ["gateway", "shop"], backends: empty, rpcs })).toThrow();
  expect(() => parsePeers({ peers: ["gateway", "shop"], backends: { shp: { apps: ["a"] } }, rpcs })).toThrow();
  expect(() => parsePeers({ peers: ["gateway", "shop"], backends: { shop: { apps: [] } }, rpcs })).toThrow();
  // Missing there, it would sign for users of every app.
  expect(() => parsePeers({ peers: ["gateway", "shop"], rpcs })).toThrow("shop is not one of the backends");
});

test("a backend has the budgets of its entry", () => {
  const withBudgets = (budgets: object[]) => () =>
    parsePeers({ peers: ["shop"], backends: { shop: { apps: ["a"], budgets } } as never, rpcs: {} });
  const peers = withBudgets([{ windowSeconds: 60, feesFlow: 0.5 }])();
  expect(peers.backend("shop")?.budgets).toEqual([{ windowSeconds: 60, fees: 50_000_000 }]);
  expect(withBudgets([{ windowSeconds: 60 }])).toThrow("limits nothing");
  expect(
    withBudgets([
      { windowSeconds: 60, count: 1 },
      { windowSeconds: 60, count: 2 },
    ]),
  ).toThrow("two budgets");
});
