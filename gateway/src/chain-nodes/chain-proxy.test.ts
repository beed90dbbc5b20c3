import { createServer, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import type { Watched } from "@countersign/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import type { ChainNodes } from "./chain-nodes-file.ts";

/** Against a machine that is busy: one second, which is the default, is sometimes too short. */
const WAIT = { timeout: 10_000 };
const ID = "0f".repeat(32);
const KEY = "the-providers-key";
const BLOCKS = "/chain/v1/flow-test/v1/blocks?height=sealed";
const TRANSACTIONS = "/chain/v1/flow-test/v1/transactions";

interface Seen {
  method: string;
  url: string;
  headers: Record<string, unknown>;
  body: string;
}

let node: Server;
let gateway: TestGateway;
let seen: Seen[] = [];
let answer: (response: ServerResponse) => void;
const port = (server: Server) => (server.address() as AddressInfo).port;

beforeAll(async () => {
  node = createServer(async (request, response) => {
    let body = "";
    try {
      for await (const chunk of request) body += chunk;
    } catch {
      return; // The gateway broke the request off.
    }
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
    answer(response);
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  gateway = await startTestGateway({
    chainNodes: {
      "flow-test": { url: `http://127.0.0.1:${port(node)}/base`, headers: { "x-api-key": KEY } },
      "flow-away": { url: "http://127.0.0.1:1", headers: {} },
    },
    chainRequestsPerMinute: 500,
    allowedOrigins: ["https://app.example.com"],
  });
});
afterAll(async () => {
  await gateway.stop();
  node.closeAllConnections();
  node.close();
});
beforeEach(() => {
  seen = [];
  gateway.samples.length = 0;
  answer = (response) => {
    response.setHeader("content-type", "application/json");
    response.setHeader("set-cookie", "session=1");
    response.setHeader("x-provider", "secret");
    response.end('[{"header":{}}]');
  };
});

/** Sends bytes as they are, and returns everything that comes back. */
async function sendRaw(text: string): Promise<string> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  let received = "";
  socket.on("data", (chunk) => (received += chunk));
  socket.write(text);
  await new Promise((resolve) => socket.once("close", resolve));
  return received;
}

const head = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, "Host: x", "Authorization: Bearer full", ...headers, "Connection: close", "", ""].join("\r\n");

describe("requests to a chain node", () => {
  it("have the node's answer, and the node has the provider's key and nothing of the client", async () => {
    const headers = { cookie: "c=1", "x-forwarded-for": "203.0.113.9", "x-api-key": "mine", "accept-language": "de" };
    const { status, json, text, headers: answered } = await gateway.send("GET", BLOCKS, { token: "full", headers });
    expect([status, text, json]).toEqual([200, '[{"header":{}}]', {}]);
    expect(answered.get("content-type")).toBe("application/json");
    expect(answered.get("cache-control")).toBe("no-store");
    expect(answered.has("set-cookie") || answered.has("x-provider")).toBe(false);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: "GET", url: "/base/v1/blocks?height=sealed", body: "" });
    const { host, connection, ...others } = seen[0]!.headers;
    expect(host).toBe(`127.0.0.1:${port(node)}`);
    expect(connection).toMatch(/keep-alive|close/);
    expect(others).toEqual({ accept: "*/*", "x-api-key": KEY });
    await expect
      .poll(() => gateway.samples, WAIT)
      .toEqual([{ method: "GET", route: "/chain/v1/{chainName}/v1/blocks", status: 200 }]);
  });

  it("carry a transaction's body", async () => {
    const body = { script: "dHJhbnNhY3Rpb24ge30=", arguments: [] };
    answer = (response) => response.writeHead(400, { "content-type": "application/json" }).end('{"code":400}');
    const answered = await gateway.send("POST", TRANSACTIONS, { token: "sign", body });
    expect(answered).toMatchObject({ status: 400, json: { code: 400 } });
    expect(JSON.parse(seen[0]!.body)).toEqual(body);
    expect(seen[0]!.headers).toMatchObject({ "content-type": "application/json", "x-api-key": KEY });
  });

  it.each([
    `/v1/blocks/${ID}`,
    `/v1/blocks/${ID},${ID}?expand=payload`,
    `/v1/blocks/${ID}/payload`,
    "/v1/blocks?start_height=1&end_height=9&select=header.height,header.id",
    `/v1/collections/${ID}`,
    `/v1/transactions/${ID}`,
    `/v1/transaction_results/${ID}?block_id=${ID}`,
    "/v1/accounts/0xf8d6e0586b0a20c7?block_height=sealed",
    "/v1/accounts/f8d6e0586b0a20c7/balance",
    "/v1/accounts/f8d6e0586b0a20c7/keys",
    "/v1/accounts/f8d6e0586b0a20c7/keys/12",
    `/v1/events?type=A.0ae53cb6e3f42a79.FlowToken.TokensDeposited&block_ids=${ID}%2C${ID}`,
    "/v1/network/parameters",
    "/v1/node_version_info",
  ])("may be GET %s", async (path) => {
    expect((await gateway.send("GET", `/chain/v1/flow-test${path}`, { token: "recover" })).status).toBe(200);
    expect(seen.map(({ url }) => url)).toEqual([`/base${path}`]);
  });

  it.each([
    "/",
    "/v1",
    "/v1/",
    "/v1/blocks/",
    "/v1/BLOCKS",
    "/v1/blocks/../transactions",
    "/v1/blocks/%2e%2e/transactions",
    "/v1/blocks%2f0",
    "/v1/blocks%5c0",
    "/v1//blocks",
    "//v1/blocks",
    "/../flow-test/v1/blocks",
    `/v1/blocks/${ID};x=1`,
    `/v1/blocks/${ID.toUpperCase()}`,
    `/v1/transactions/${ID}/../../admin`,
    "/v1/blocks?height=sealed&height=1",
    "/v1/blocks?height=sealed&debug=1",
    "/v1/blocks?height=%0d%0aX:1",
    "/v1/blocks?height=sealed#x",
    "/v1/blocks?",
    "/v1/blocks?height",
    "/v1/execution_results?block_id=1",
    "/v1/subscribe_events",
    `/v1/events?type=${"a".repeat(5_000)}`,
    "/v2/blocks",
  ])("may not be GET %s", async (path) => {
    const received = await sendRaw(head(`GET /chain/v1/flow-test${path}`));
    expect(received).toMatch(/^HTTP\/1\.1 (400|404) /);
    expect(seen).toEqual([]);
  });

  it.each(["PUT", "DELETE", "PATCH", "HEAD", "TRACE"])("may not have the method %s", async (method) => {
    expect(await sendRaw(head(`${method} ${BLOCKS}`))).toMatch(/^HTTP\/1\.1 404 /);
    expect(await sendRaw(head(`GET ${TRANSACTIONS}`))).toMatch(/^HTTP\/1\.1 404 /);
    expect(seen).toEqual([]);
  });

  it.each([
    ["a body of a read", head(`GET ${BLOCKS}`, "Content-Length: 5")],
    ["chunks in a read", head(`GET ${BLOCKS}`, "Transfer-Encoding: chunked")],
    [
      "a transaction in chunks",
      head(`POST ${TRANSACTIONS}`, "Content-Type: application/json", "Transfer-Encoding: chunked"),
    ],
    ["no body", head(`POST ${TRANSACTIONS}`, "Content-Type: application/json", "Content-Length: 0")],
    ["two lengths", head(`POST ${TRANSACTIONS}`, "Content-Length: 5", "Content-Length: 6")],
    ["a length and chunks", head(`POST ${TRANSACTIONS}`, "Content-Length: 5", "Transfer-Encoding: chunked")],
    ["two hosts", head(`GET ${BLOCKS}`, "Host: y")],
  ])("reject %s: nothing that follows is a request to the node", async (_, text) => {
    expect(await sendRaw(`${text}GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
  });

  it("reject another type of body, and one that is too large", async () => {
    const typed = { token: "full", body: "{}", headers: { "content-type": "text/plain" } };
    expect((await gateway.send("POST", TRANSACTIONS, typed)).status).toBe(415);
    expect((await gateway.send("POST", TRANSACTIONS, { token: "full", body: "x".repeat(70_000) })).status).toBe(413);
    expect(seen).toEqual([]);
  });

  it.each([
    [undefined, 401, "Unauthenticated"],
    ["expired", 401, "AccessTokenExpired"],
    ["ended", 401, "SessionEnded"],
    ["junk", 401, "InvalidAccessToken"],
  ])("with the token %s answer %i %s", async (token, status, error) => {
    const answered = await gateway.send("GET", BLOCKS, token === undefined ? {} : { token });
    expect(answered).toMatchObject({ status, json: { error } });
    expect(answered.headers.has("www-authenticate")).toBe(true);
    expect(seen).toEqual([]);
  });

  it("name the chains where there is no such one", async () => {
    const answered = await gateway.send("GET", "/chain/v1/other/v1/blocks?height=sealed", { token: "full" });
    expect(answered).toMatchObject({ status: 400, json: { error: "UnknownChain" } });
    expect(answered.text).toContain("flow-test");
  });

  it.each([401, 403, 429, 301, 500, 503])("answer Unavailable where the node answers %i", async (status) => {
    answer = (response) => response.writeHead(status, { location: "http://elsewhere" }).end(KEY);
    const answered = await gateway.send("GET", BLOCKS, { token: "full" });
    expect(answered).toMatchObject({ status: 503, json: { error: "Unavailable" } });
    expect(answered.text).not.toContain(KEY);
    expect(answered.headers.has("location") || answered.headers.has("www-authenticate")).toBe(false);
  });

  it("answer Unavailable where the node is away, and end where it breaks off", async () => {
    const away = await gateway.send("GET", "/chain/v1/flow-away/v1/blocks?height=sealed", { token: "full" });
    expect(away).toMatchObject({ status: 503, json: { error: "Unavailable" } });
    answer = (response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("part", () => response.destroy());
    };
    await expect(gateway.send("GET", BLOCKS, { token: "full" })).rejects.toThrow();
    expect((await gateway.send("GET", "/account/v1/me", { token: "full" })).status).toBe(200);
  });

  it("may come from an allowed origin", async () => {
    const preflight = { origin: "https://app.example.com", "access-control-request-method": "POST" };
    expect((await gateway.send("OPTIONS", TRANSACTIONS, { headers: preflight })).status).toBe(204);
  });

  it("of a slow client hold up nobody else, and end", async () => {
    const others = await startTestGateway({
      chainNodes: { "flow-test": { url: `http://127.0.0.1:${port(node)}`, headers: {} } },
      chainRequestsPerMinute: 500,
    });
    const slow = Array.from({ length: 128 }, () => connect(Number(new URL(others.url).port), "127.0.0.1"));
    let refused = 0;
    for (const socket of slow) {
      socket.on("data", (chunk) => (refused += String(chunk).startsWith("HTTP/1.1 429 ") ? 1 : 0));
      socket.on("error", () => {});
      socket.write(`POST ${TRANSACTIONS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\n`);
      socket.write("Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{");
    }
    await expect.poll(() => refused, WAIT).toBe(120);
    const started = performance.now();
    expect((await others.send("GET", BLOCKS, { token: "other" })).status).toBe(200);
    expect(performance.now() - started).toBeLessThan(5_000);
    for (const socket of slow) socket.destroy();
    await expect.poll(async () => (await others.send("GET", BLOCKS, { token: "full" })).status, WAIT).toBe(200);
    await others.stop();
  });

  it("have a limit per account and minute", async () => {
    const limited = await startTestGateway({
      chainNodes: { "flow-test": { url: `http://127.0.0.1:${port(node)}`, headers: {} } },
      chainRequestsPerMinute: 2,
    });
    const statuses = [];
    for (let count = 0; count < 3; count++) statuses.push(await limited.send("GET", BLOCKS, { token: "full" }));
    await limited.stop();
    expect(statuses.map(({ status }) => status)).toContain(429);
    expect(statuses.at(-1)!.headers.get("retry-after")).toMatch(/^\d+$/);
  });

  it("go to another node with another key when the file changes, without a restart", async () => {
    const at = (headers: Record<string, string>): ChainNodes =>
      new Map([["flow-test", { url: `http://127.0.0.1:${port(node)}`, headers }]]);
    let current = at({ "x-api-key": "one" });
    const nodes: Watched<ChainNodes> = {
      current: () => current,
      onChange: () => () => undefined,
      refresh: () => undefined,
    };
    const changing = await startTestGateway({ chainNodes: nodes });
    const keySent = async () => {
      await changing.send("GET", BLOCKS, { token: "full" });
      return seen.at(-1)!.headers["x-api-key"];
    };
    const keys = [await keySent()];
    current = at({ "x-api-key": "two" });
    keys.push(await keySent());
    current = new Map();
    const removed = await changing.send("GET", BLOCKS, { token: "full" });
    await changing.stop();
    expect([...keys, removed.status]).toEqual(["one", "two", 400]);
  });
});
