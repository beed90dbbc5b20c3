import { ConfigError } from "@countersign/runtime";
import { describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";

const env = {
  CS_TLS_CA: "ca.pem",
  CS_TLS_CERT: "auth.pem",
  CS_TLS_KEY: "auth.key",
  CS_NATS_URL: "nats://127.0.0.1:4222",
  CS_DEVICE_ADDRESS: "127.0.0.1:5002",
  CS_KEY_ADDRESS: "127.0.0.1:5003",
  CS_ACCOUNT_ADDRESS: "127.0.0.1:5004",
  CS_NETWORKS_FILE: "networks.json",
  AUTH_ISSUER: "http://localhost:8080",
  AUTH_DATABASE_URL: "postgresql://127.0.0.1/auth",
  AUTH_LISTEN: "127.0.0.1:5001",
  AUTH_HTTP_LISTEN: "127.0.0.1:5101",
  AUTH_PROVIDERS_FILE: "providers.json",
  AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE: "keyring",
};
const empty = { current: () => new Map(), onChange: () => undefined, require: () => undefined };
/** Reads no file: only the settings are tested. */
const files = { watch: () => empty } as unknown as Parameters<typeof loadConfig>[1];
const load = (changed: Record<string, string>) => loadConfig({ ...env, ...changed }, files);

describe("loadConfig", () => {
  it("takes sign-ins without a login token in development, never in production", () => {
    expect(load({}).requireLoginToken).toBe(true);
    expect(load({ AUTH_REQUIRE_LOGIN_TOKEN: "false" }).requireLoginToken).toBe(false);
    expect(load({ NODE_ENV: "production" }).requireLoginToken).toBe(true);
    expect(() => load({ AUTH_REQUIRE_LOGIN_TOKEN: "false", NODE_ENV: "production" })).toThrow(ConfigError);
  });
});
