import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";

const dir = mkdtempSync(join(tmpdir(), "countersign-config-"));
const file = join(dir, "any.pem");
writeFileSync(file, "pem");
afterAll(() => rmSync(dir, { recursive: true }));

const env = { CS_TLS_CA: file, CS_TLS_CERT: file, CS_TLS_KEY: file, AUTH_ISSUER: "http://localhost:8080" };

describe("loadConfig", () => {
  it("trusts no proxy and allows no browser by default", () => {
    expect(loadConfig(env)).toMatchObject({
      listen: "127.0.0.1:8080",
      allowedOrigins: [],
      trustedProxies: [],
      requireLoginToken: true,
      authHttpAddress: "127.0.0.1:5101",
    });
  });

  it("takes the URL of a page of errors, and nothing else", () => {
    const url = "https://docs.example.com/errors";
    expect(loadConfig({ ...env, GATEWAY_ERROR_PAGE_URL: url }).errorPage).toBe(url);
    expect(() => loadConfig({ ...env, GATEWAY_ERROR_PAGE_URL: "javascript:alert(1)" })).toThrow();
  });

  it("reads lists", () => {
    const lists = {
      GATEWAY_ALLOWED_ORIGINS: "https://a.example.com, http://localhost:5173",
      GATEWAY_TRUSTED_PROXIES: "10.0.0.0/8,192.0.2.1",
    };
    expect(loadConfig({ ...env, ...lists })).toMatchObject({
      allowedOrigins: ["https://a.example.com", "http://localhost:5173"],
      trustedProxies: ["10.0.0.0/8", "192.0.2.1"],
    });
  });

  it("takes the origins of web views, exactly", () => {
    const origins = "capacitor://localhost,ionic://localhost,tauri://localhost,https://tauri.localhost";
    expect(loadConfig({ ...env, GATEWAY_ALLOWED_ORIGINS: origins }).allowedOrigins).toEqual(origins.split(","));
  });

  it.each([
    { GATEWAY_ALLOWED_ORIGINS: "*" },
    { GATEWAY_ALLOWED_ORIGINS: "null" },
    { GATEWAY_ALLOWED_ORIGINS: "capacitor://*" },
    { GATEWAY_ALLOWED_ORIGINS: "capacitor://app.example.com" },
    { GATEWAY_ALLOWED_ORIGINS: "capacitor://localhost/" },
    { GATEWAY_ALLOWED_ORIGINS: "capacitor://localhost:1" },
    { GATEWAY_ALLOWED_ORIGINS: "Tauri://localhost" },
    { GATEWAY_ALLOWED_ORIGINS: "app://localhost" },
    { GATEWAY_ALLOWED_ORIGINS: "file://" },
    { GATEWAY_ALLOWED_ORIGINS: "https://a.example.com/path" },
    { GATEWAY_TRUSTED_PROXIES: "the-proxy" },
    { GATEWAY_LISTEN: "8080" },
    { GATEWAY_COLOUR: "blue" },
    { AUTH_ISSUER: "" },
    { AUTH_REQUIRE_LOGIN_TOKEN: "maybe" },
  ])("refuses %j", (wrong) => {
    expect(() => loadConfig({ ...env, ...wrong })).toThrow(Object.keys(wrong)[0]);
  });
});
