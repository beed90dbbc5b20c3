import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { freePorts } from "@countersign/local-stack/ports.ts";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { ISSUER, startFakeBackend } from "./testing/fake-backend.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-gateway-"));
const main = fileURLToPath(new URL("main.ts", import.meta.url));

describe("the gateway as a process", () => {
  let backend: Awaited<ReturnType<typeof startFakeBackend>>;
  let child: ChildProcess;
  let url: string;
  let admin: string;

  beforeAll(async () => {
    await ensureCertificates(stateDir);
    backend = await startFakeBackend((name) => tlsFiles(stateDir, name));
    const [port, adminPort] = await freePorts(2);
    url = `http://127.0.0.1:${port}`;
    admin = `http://127.0.0.1:${adminPort}`;
    const { ca, cert, key } = tlsFiles(stateDir, "gateway");
    child = spawn(process.execPath, [main], {
      stdio: ["ignore", "ignore", "inherit"],
      env: {
        PATH: process.env.PATH,
        GATEWAY_LISTEN: `127.0.0.1:${port}`,
        GATEWAY_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
        CS_TLS_CA: ca,
        CS_TLS_CERT: cert,
        CS_TLS_KEY: key,
        AUTH_ISSUER: ISSUER,
        ...backend.addresses,
      },
    });
    const ready = async () => expect((await fetch(`${admin}/startupz`)).status).toBe(200);
    await vi.waitFor(ready, { timeout: 45_000, interval: 50 });
  }, 60_000);

  afterAll(async () => {
    child?.kill("SIGKILL");
    await backend?.stop();
    rmSync(stateDir, { recursive: true, force: true });
  });

  it("answers by the token state and the services behind it", async () => {
    const me = (token: string) =>
      fetch(`${url}/account/v1/me`, { headers: { authorization: `Bearer ${token}`, "x-request-id": "request-44" } });
    // On a busy machine the token state, or the connection to the service, may come late: 503 until then.
    const answer = await vi.waitFor(
      async () => {
        const first = await me(backend.tokens.issue());
        expect(first.status).toBe(200);
        return first;
      },
      { timeout: 15_000, interval: 50 },
    );
    expect(await answer.json()).toMatchObject({ account: { addresses: [], parent: [] } });
    expect(backend.seen).toEqual([{ requestId: "request-44", clientIp: "127.0.0.1" }]);
    const old = Math.floor(Date.now() / 1000) - 1_000;
    expect(await (await me(backend.tokens.issue({ iat: old, exp: old + 900 }))).json()).toMatchObject({
      error: "AccessTokenExpired",
    });
    expect((await me(backend.tokens.issue({ scope: "sign", two_factor: randomUUID() }))).status).toBe(403);
    expect((await me(backend.tokens.issue({ aud: "countersign-refresh" }))).status).toBe(401);
  });

  it("answers Unavailable for a service that is not there", async () => {
    const headers = { authorization: `Bearer ${backend.tokens.issue()}` };
    const answer = await fetch(`${url}/device/v1/devices`, { headers });
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: "Unavailable" });
  });

  it("serves auth's keys, and takes neither tokens nor cookies there", async () => {
    const headers = { authorization: "Bearer secret", cookie: "session=secret", "x-forwarded-for": "203.0.113.9" };
    const answer = await fetch(`${url}/.well-known/jwks.json?x=1`, { headers });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ keys: [{ kid: "test-key" }] });
    expect(answer.headers.get("cache-control")).toBe("public, max-age=60");
    expect(answer.headers.has("set-cookie")).toBe(false);
    const [request] = backend.keyRequests;
    expect(request).toMatchObject({ peer: "gateway.countersign.internal" });
    expect(JSON.stringify(request!.headers)).not.toMatch(/secret|203\.0\.113\.9/);
    expect((await fetch(`${url}/.well-known/jwks.json`, { method: "POST" })).status).toBe(405);
  });

  it("serves auth's keys while auth is away", async () => {
    await backend.stopKeys();
    expect(await (await fetch(`${url}/.well-known/jwks.json`)).json()).toMatchObject({ keys: [{ kid: "test-key" }] });
    expect(backend.keyRequests).toHaveLength(1);
  });

  it("counts requests by route", async () => {
    const metrics = await (await fetch(`${admin}/metrics`)).text();
    expect(metrics).toMatch(
      /countersign_http_request_seconds_count\{[^}]*route="\/account\/v1\/me"[^}]*status="200"[^}]*\} 1/,
    );
  });

  it("stops on SIGTERM, with open connections too", async () => {
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  }, 8_000);
});
