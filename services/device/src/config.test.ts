import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";

describe("loadConfig", () => {
  const env = {
    CS_TLS_CA: "ca.pem",
    CS_TLS_CERT: "device.pem",
    CS_TLS_KEY: "device.key",
    CS_NATS_URL: "nats://127.0.0.1:4222",
    CS_AUTH_ADDRESS: "127.0.0.1:5001",
    CS_ACCOUNT_ADDRESS: "127.0.0.1:5004",
    CS_SIGNER_ADDRESS: "127.0.0.1:5005",
    AUTH_ISSUER: "http://localhost:8080",
    DEVICE_DATABASE_URL: "postgresql://127.0.0.1/device",
  };

  it("has the documented limits of twenty devices, and of twenty notices a day, and scales them", () => {
    expect(loadConfig(env)).toMatchObject({ listen: "127.0.0.1:5002", maxDevices: 20, noticesPerDay: 20 });
    expect(loadConfig({ ...env, DEVICE_MAX_DEVICES: "5", DEVICE_LIMIT_SCALE: "100" }).maxDevices).toBe(500);
  });

  it("has the documented limits of requests for approval, and scales only what is about load", () => {
    expect(loadConfig(env).twoFactorLimits).toEqual({ pending: 5, rejections: 3 });
    expect(loadConfig({ ...env, DEVICE_LIMIT_SCALE: "100" }).twoFactorLimits).toEqual({ pending: 500, rejections: 3 });
  });

  it.each([
    ["missing", { DEVICE_DATABASE_URL: "" }],
    ["wrong", { DEVICE_MAX_DEVICES: "none" }],
    ["unknown", { DEVICE_MAX_DEVICE: "5" }],
  ])("stops at a setting that is %s", (_, change) => {
    expect(() => loadConfig({ ...env, ...change })).toThrow(Object.keys(change)[0]);
  });
});
