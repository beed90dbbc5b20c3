import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exchangeCode, loginAtDevelopmentProvider } from "@countersign/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../ports.ts";
import { createInteractions } from "./interactions.ts";
import { createProvider } from "./provider.ts";

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

describe("auth_time in ID tokens", () => {
  it("is there where max_age asks for it, and only there, as with a strict provider", async () => {
    const before = Math.floor(Date.now() / 1000);
    const { auth_time, iat } = await claimsOf({ maxAge: 300 });
    expect(auth_time).toBeGreaterThanOrEqual(before);
    expect(auth_time).toBeLessThanOrEqual(iat as number);
    expect(await claimsOf({ maxAge: null })).not.toHaveProperty("auth_time");
  });
});
