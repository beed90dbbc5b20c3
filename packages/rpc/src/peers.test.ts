import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { peersFile } from "./peers.ts";

const row = { callers: ["gateway"], token: "user" as const };

test("the deployed table is valid and allows health to everybody", () => {
  const peers = peersFile.parse(
    JSON.parse(readFileSync(new URL("../../../deploy/peers.json", import.meta.url), "utf8")),
  );
  expect(peers.rule("auth.v1.SignUp/SignUp")?.callers).toEqual(new Set(["gateway"]));
  expect(peers.rule("grpc.health.v1.Health/Check")?.callers.has("signer")).toBe(true);
  expect(peers.rule("grpc.health.v1.Health/Check")?.callers.has("*")).toBe(false);
  expect(peers.rule("auth.v1.SignUp/Other")).toBeUndefined();
  expect(peers.rule("rpc.v1.Calls/Stream")?.callers).toEqual(new Set(["gateway", "auth", "signer", "account"]));
});

test("modes open scopes, and rows may open more", () => {
  const peers = peersFile.parse({
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
  ["a fingerprint that matches no certificate", { revoked: ["ab12"], rpcs: { "a.v1.A/B": row } }],
  ["scopes without a token", { rpcs: { "a.v1.A/B": { ...row, token: "service", scopes: ["full"] } } }],
  ["a name that is no RPC", { rpcs: { "a.v1.A.B": row } }],
])("refuses %s", (_name, table) => {
  expect(() => peersFile.parse(table)).toThrow();
});

test.each(["signer.v1.Signing/SignTransaction", "signer.v1.UserMessages/SignUserMessage"])(
  "a caller of %s is one of our services or a backend",
  (rpc) => {
    const rpcs = { [rpc]: { callers: ["gateway", "shop"], token: "user" } };
    const parse = (backends: object) => () => peersFile.parse({ peers: ["gateway", "shop"], ...backends, rpcs });
    expect(parse({ backends: { shop: { apps: ["a", "b"] } } })).not.toThrow();
    expect(parse({ backends: { shp: { apps: ["a"] } } })).toThrow();
    // Missing there, it would sign for users of every app.
    expect(parse({})).toThrow("shop is not one of the backends");
  },
);
