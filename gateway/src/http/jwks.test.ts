import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { internalName, unchanging } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { createLogger, loadTls } from "@countersign/runtime";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTokenKeysSource, type TokenKeysSource } from "../clients/token-keys.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { createJwksPage } from "./pages.ts";

const PATH = "/.well-known/identity-keys.json";
const stateDir = mkdtempSync(join(tmpdir(), "countersign-jwks-"));
const logger = createLogger({ name: "gateway", level: "silent" });

/** The auth service's side: what it was asked, and what it answers. */
let auth: Server;
let answer: (response: ServerResponse) => void;
const seen: string[] = [];
const publish =
  (kid: string, maxAge = 60) =>
  (response: ServerResponse) =>
    response
      .writeHead(200, { "content-type": "application/json", "cache-control": `public, max-age=${maxAge}` })
      .end(JSON.stringify({ keys: [{ kid }] }));
const fail = (response: ServerResponse) => response.writeHead(503).end("{}");

let clock: FixedClock;
let source: TokenKeysSource;
let gateway: TestGateway;

beforeAll(async () => {
  await ensureCertificates(stateDir);
  const tls = loadTls(tlsFiles(stateDir, "auth"));
  auth = createServer({ ...tls, requestCert: true }, (request: IncomingMessage, response) => {
    seen.push(`${request.method} ${request.url} ${Object.keys(request.headers).sort().join(" ")}`);
    answer(response);
  });
  await new Promise<void>((resolve) => auth.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  auth?.closeAllConnections();
  auth?.close();
  rmSync(stateDir, { recursive: true, force: true });
});
beforeEach(async () => {
  seen.length = 0;
  answer = publish("first");
  clock = new FixedClock();
  const upstream = {
    address: `127.0.0.1:${(auth.address() as AddressInfo).port}`,
    serverName: internalName("auth"),
    tls: unchanging(loadTls(tlsFiles(stateDir, "gateway"))),
    path: PATH,
  } as const;
  source = createTokenKeysSource(upstream, { clock, logger });
  gateway = await startTestGateway({ pages: [createJwksPage(PATH, source)] });
});
afterEach(async () => {
  await gateway.stop();
  source.close();
});

const ask = (headers: Record<string, string> = {}, path = PATH) => gateway.send("GET", path, { headers });
const kidsOf = async () => ((await ask()).json.keys as { kid: string }[]).map(({ kid }) => kid);

/** Writes bytes on a connection that stays open. Returns the first bytes of the answer. */
async function begin(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.write(bytes);
  const [first] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return first.toString("latin1");
}

describe("a client's request body and headers on the keys' path", () => {
  const smuggled = `GET ${PATH}?smuggled HTTP/1.1\r\nHost: x\r\n\r\n`;
  const bodies: Record<string, string> = {
    "a body with a length": `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    "a body in chunks": `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
  };
  it.each(Object.entries(bodies))("%s never reaches auth", async (_, body) => {
    for (const method of ["GET", "HEAD"]) {
      await begin(`${method} ${PATH} HTTP/1.1\r\nHost: x\r\n${body}`);
      clock.advance(60_000);
      expect(await kidsOf()).toEqual(["first"]);
    }
    expect(seen.filter((line) => line.includes("smuggled"))).toEqual([]);
  });

  it("headers, query and absolute targets never reach auth", async () => {
    await ask({ authorization: "Bearer secret", cookie: "a=b", "x-forwarded-for": "203.0.113.9" }, `${PATH}?x=1`);
    await begin(`GET http://evil.example${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(seen).toEqual([`GET ${PATH} accept connection host`]);
  });
});

describe("the keys", () => {
  it("are fetched once while they are fresh, however many ask", async () => {
    await Promise.all(Array.from({ length: 20 }, () => kidsOf()));
    clock.advance(59_000);
    expect((await ask()).headers.get("cache-control")).toBe("public, max-age=1");
    expect(seen).toHaveLength(1);
  });

  it("are fetched again after the time that auth says, and after a minute at most", async () => {
    answer = publish("first", 5);
    await kidsOf();
    clock.advance(5_000);
    answer = publish("second", 86_400);
    expect(await kidsOf()).toEqual(["second"]);
    clock.advance(60_000);
    answer = publish("third");
    expect(await kidsOf()).toEqual(["third"]);
  });

  it("are fetched again after the clock was set back", async () => {
    await kidsOf();
    clock.advance(-3_600_000);
    answer = publish("second");
    expect(await kidsOf()).toEqual(["second"]);
  });

  it("stay for ten minutes while auth fails, which is asked every five seconds", async () => {
    await kidsOf();
    answer = fail;
    clock.advance(60_000);
    expect((await ask()).headers.get("cache-control")).toBe("public, max-age=5");
    clock.advance(4_999);
    expect(await kidsOf()).toEqual(["first"]);
    expect(seen).toHaveLength(2);
    clock.advance(1);
    await ask();
    expect(seen).toHaveLength(3);
    clock.advance(595_000);
    const late = await ask();
    expect(late).toMatchObject({ status: 503, json: { error: "Unavailable" } });
    expect(late.headers.get("retry-after")).toBe("5");
    expect(late.headers.get("cache-control")).toBe("no-store");
    answer = publish("second");
    clock.advance(5_000);
    expect(await kidsOf()).toEqual(["second"]);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["an error", fail],
    ["no JSON", (response) => response.end("<html>")],
    ["another document", (response) => response.end('{"error":"x"}')],
    ["more than 64 KiB", (response) => response.end(JSON.stringify({ keys: [{ kid: "x".repeat(65_536) }] }))],
    [
      "half an answer",
      (response) => response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
    ],
  ])("are unavailable where auth answers %s", async (_, answered) => {
    answer = answered;
    expect(await ask()).toMatchObject({ status: 503, json: { error: "Unavailable" } });
  });

  it("are sent with an ETag, and not again to a client that has them", async () => {
    const { status, headers, json } = await ask();
    expect({ status, json }).toEqual({ status: 200, json: { keys: [{ kid: "first" }] } });
    const etag = headers.get("etag")!;
    // Not with fetch, which adds a Cache-Control that asks for a full answer.
    const conditional = (tags: string) => begin(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${tags}\r\n\r\n`);
    expect(await conditional(etag)).toMatch(/^HTTP\/1\.1 304 [^{]*$/);
    expect(await conditional(`"other", W/${etag}`)).toMatch(/^HTTP\/1\.1 304 /);
    expect(await conditional('"other"')).toMatch(/^HTTP\/1\.1 200 /);
    const head = await gateway.send("HEAD", PATH);
    expect(head).toMatchObject({ status: 200, text: "" });
    expect(head.headers.get("etag")).toBe(etag);
    expect(seen).toHaveLength(1);
  });
});
