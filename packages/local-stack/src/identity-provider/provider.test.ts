import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exchangeCode, loginAtDevelopmentProvider } from "@countersign/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../ports.ts";
import { createInteractions } from "./interactions.ts";
import { loginPage } from "./pages.ts";
import { createProvider } from "./provider.ts";
import { lookOf } from "./texts.ts";

const application = { clientId: "demo", redirectUri: "http://localhost:8080/callback" };
const email = "ada@example.com";
let stateDir: string;
let server: Server;
let issuer: string;

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), "countersign-provider-"));
  const port = await freePort();
  issuer = `http://localhost:${port}`;
  const { clientId, redirectUri } = application;
  const clients = [{ clientId, appName: "Demo", redirectUris: [redirectUri] }];
  const { provider, accounts } = createProvider({ issuer, port, stateDir, clients });
  const interactions = createInteractions(provider, accounts);
  const callback = provider.callback();
  server = createServer(async (request, response) => {
    if (!(await interactions(request, response))) await callback(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(stateDir, { recursive: true, force: true });
});

async function claimsOf(login: { maxAge?: number | null } = {}): Promise<Record<string, unknown>> {
  const code = await loginAtDevelopmentProvider({ issuer, ...application, email, ...login });
  const { idToken } = await exchangeCode(issuer, code);
  return JSON.parse(Buffer.from(idToken.split(".")[1]!, "base64url").toString());
}

describe("pages", () => {
  const open = async (path: string) => {
    const response = await fetch(issuer + path, { headers: { accept: "text/html" } });
    return { headers: response.headers, html: await response.text() };
  };

  it.each(["/", "/interaction/none", "/auth?client_id=none"])("%s loads nothing from elsewhere", async (path) => {
    const { headers, html } = await open(path);
    expect(html).toContain("Geist Variable");
    expect(html).not.toMatch(/https:|@import|<script/);
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
  });

  it("say what is registered where a client or its redirect URI is not", async () => {
    const unknown = await open("/auth?client_id=none");
    expect(unknown.html).toMatch(/invalid_client: .* Registered: demo\. `npm start -- --app/);
    const elsewhere = await open("/auth?client_id=demo&response_type=code&redirect_uri=http://localhost:1/");
    expect(elsewhere.html).toMatch(
      /invalid_redirect_uri: .* Registered for demo: http:\/\/localhost:8080\/callback\. /,
    );
  });

  it("show what others sent as text only", async () => {
    const { html } = await open("/auth?client_id=%3Cimg%20src=x%3E");
    expect(html).not.toContain("<img");
    expect(loginPage(lookOf({}), "uid", "<img>", { hint: '"><img>' })).not.toContain("<img");
  });

  it("speak the language and have the theme that the app asks for, and no other values", () => {
    expect(lookOf({ ui_locales: "fr-FR de-AT en", theme: "dark" })).toEqual({ language: "de", theme: "dark" });
    const hostile = { ui_locales: '"><img>', theme: '"><img>' };
    expect(lookOf(hostile)).toEqual({ language: "en", theme: undefined });
    expect(lookOf({ ui_locales: "constructor" })).toMatchObject({ language: "en" });
    expect(loginPage(lookOf({ ui_locales: "de" }), "uid", "Demo")).toContain('<html lang="de">');
  });
});

describe("auth_time in ID tokens", () => {
  it("is there where max_age asks for it, and only there, as with a strict provider", async () => {
    const before = Math.floor(Date.now() / 1000);
    const { auth_time, iat } = await claimsOf({ maxAge: 300 });
    expect(auth_time).toBeGreaterThanOrEqual(before);
    expect(auth_time).toBeLessThanOrEqual(iat as number);
    expect(await claimsOf({ maxAge: null })).not.toHaveProperty("auth_time");
  });
});
