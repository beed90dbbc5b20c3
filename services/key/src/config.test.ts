import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";

describe("loadConfig", () => {
  const env = {
    CS_TLS_CA: "ca.pem",
    CS_TLS_CERT: "key.pem",
    CS_TLS_KEY: "key.key",
    CS_NATS_URL: "nats://127.0.0.1:4222",
    CS_AUTH_ADDRESS: "127.0.0.1:5001",
    CS_ACCOUNT_ADDRESS: "127.0.0.1:5004",
    CS_DEVICE_ADDRESS: "127.0.0.1:5002",
    AUTH_ISSUER: "http://localhost:8080",
    KEY_DATABASE_URL: "postgresql://127.0.0.1/key",
  };

  it("has the documented limit of twenty, and scales it", () => {
    expect(loadConfig(env)).toMatchObject({ listen: "127.0.0.1:5003", maxUserKeys: 20 });
    expect(loadConfig({ ...env, KEY_MAX_USER_KEYS: "5", KEY_LIMIT_SCALE: "100" }).maxUserKeys).toBe(500);
  });

  it.each([
    ["missing", { KEY_DATABASE_URL: "" }],
    ["wrong", { KEY_MAX_USER_KEYS: "none" }],
    ["unknown", { KEY_MAX_USER_KEY: "5" }],
  ])("stops at a setting that is %s", (_, change) => {
    expect(() => loadConfig({ ...env, ...change })).toThrow(Object.keys(change)[0]);
  });
});
