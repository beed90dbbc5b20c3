import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@countersign/core";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, it } from "vitest";
import { addressRules } from "./addresses.ts";
import type { WebhookEndpoint } from "./config.ts";
import { createSender } from "./send.ts";

const secret = (): string => `whsec_${randomBytes(32).toString("base64")}`;
const sent = { id: "0199aaaa-0000-7000-8000-000000000001", body: '{"type":"key.added"}' };
const loopback = addressRules(["127.0.0.0/8"]);
const nowhere = addressRules([]);

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a receiver; returns its port, and the requests that it got. */
async function receiver(handle: RequestListener) {
  const got: { headers: IncomingMessage["headers"]; body: string; url: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    got.push({ headers: request.headers, body, url: request.url! });
    handle(request, response);
  }).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, got };
}

const endpointAt = (url: string, secrets = [secret()]): WebhookEndpoint => ({
  id: "demo",
  appId: "demo",
  url,
  secrets,
  types: [],
});
const ok: RequestListener = (_request, response) => response.writeHead(204).end();
const sendTo = (url: string, options: Partial<Parameters<typeof createSender>[0]> = {}) =>
  createSender({ rules: loopback, clock: systemClock, timeoutMs: 500, ...options })(endpointAt(url), sent);

describe("a message", () => {
  it("is verified by the library of Standard Webhooks, with either of two secrets, and not by another", async () => {
    const { port, got } = await receiver(ok);
    const [first, second] = [secret(), secret()];
    const send = createSender({ rules: loopback, clock: systemClock });
    const attempt = await send(endpointAt(`http://127.0.0.1:${port}/hooks?a=1`, [first, second]), sent);
    expect(attempt).toEqual({ delivered: true, text: "status 204" });
    const [{ headers, body, url }] = got as [(typeof got)[0]];
    expect([url, body, headers["webhook-id"]]).toEqual(["/hooks?a=1", sent.body, sent.id]);
    for (const good of [first, second])
      expect(new Webhook(good).verify(body, headers as Record<string, string>)).toEqual({ type: "key.added" });
    expect(() => new Webhook(secret()).verify(body, headers as Record<string, string>)).toThrow("No matching");
    const forged = { ...(headers as Record<string, string>), "webhook-id": "another" };
    expect(() => new Webhook(first).verify(body, forged)).toThrow("No matching");
    expect(() =>
      new Webhook(first).verify(body.replace("added", "revoked"), headers as Record<string, string>),
    ).toThrow();
  });
});

describe("an answer", () => {
  it.each([200, 201, 299])("of %d is a delivery", async (status) => {
    const { port } = await receiver((_, response) => response.writeHead(status).end("thanks"));
    expect(await sendTo(`http://127.0.0.1:${port}`)).toEqual({ delivered: true, text: `status ${status}` });
  });

  it.each([400, 404, 410, 500, 503])("of %d is none", async (status) => {
    const { port } = await receiver((_, response) => response.writeHead(status).end());
    expect(await sendTo(`http://127.0.0.1:${port}`)).toEqual({ delivered: false, text: `status ${status}` });
  });

  it.each([301, 302, 303, 307, 308])("of %d is not followed", async (status) => {
    const inside = await receiver(ok);
    const location = `http://127.0.0.1:${inside.port}/admin`;
    const { port } = await receiver((_, response) => response.writeHead(status, { location }).end());
    expect(await sendTo(`http://127.0.0.1:${port}`)).toEqual({ delivered: false, text: `status ${status}` });
    expect(inside.got).toEqual([]);
  });

  it("asks to wait by Retry-After", async () => {
    const { port } = await receiver((_, response) => response.writeHead(429, { "retry-after": "120" }).end());
    expect(await sendTo(`http://127.0.0.1:${port}`)).toMatchObject({ delivered: false, retryAfterS: 120 });
  });

  it("that never comes, or whose headers never end, ends with the time limit", async () => {
    const silent = await receiver(() => undefined);
    expect(await sendTo(`http://127.0.0.1:${silent.port}`)).toEqual({
      delivered: false,
      text: "no answer within 0.5 s",
    });
    const slow = await receiver((request) => {
      const drip = setInterval(() => request.socket.write("HTTP/1.1 100 Continue\r\n\r\n"), 20);
      request.socket.on("close", () => clearInterval(drip));
    });
    expect(await sendTo(`http://127.0.0.1:${slow.port}`)).toMatchObject({ text: "no answer within 0.5 s" });
  });

  it("with an endless body counts by its status, and is read for so long only", async () => {
    let written = 0;
    const { port } = await receiver((_, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && written < 100_000_000) {
          written += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return void response.once("drain", more);
        }
      };
      more();
    });
    expect(await sendTo(`http://127.0.0.1:${port}`)).toEqual({ delivered: true, text: "status 200" });
    expect(written).toBeLessThan(50_000_000);
    const drip = await receiver((_, response) => void response.writeHead(200).write("."));
    expect(await sendTo(`http://127.0.0.1:${drip.port}`)).toEqual({ delivered: true, text: "status 200" });
  });

  it("with headers of more than 8 KiB is none, and so is one that is no HTTP, or another protocol", async () => {
    const { port } = await receiver((_, response) => response.writeHead(200, { x: "y".repeat(20_000) }).end());
    expect(await sendTo(`http://127.0.0.1:${port}`)).toEqual({
      delivered: false,
      text: "no answer: HPE_HEADER_OVERFLOW",
    });
    const garbage = await receiver((request) => void request.socket.end("garbage\r\n\r\n"));
    expect(await sendTo(`http://127.0.0.1:${garbage.port}`)).toMatchObject({ delivered: false });
    const upgrading = await receiver(
      (request) => void request.socket.write("HTTP/1.1 101 -\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    );
    expect(await sendTo(`http://127.0.0.1:${upgrading.port}`)).toEqual({ delivered: false, text: "no answer" });
    const closed = await receiver((request) => request.socket.destroy());
    expect(await sendTo(`http://127.0.0.1:${closed.port}`)).toEqual({
      delivered: false,
      text: "no answer: ECONNRESET",
    });
  });
});

describe("an address inside", () => {
  it.each([
    "http://127.0.0.1",
    "http://127.1",
    "http://0x7f000001",
    "http://2130706433",
    "http://0177.0.0.1",
    "http://[::1]",
    "http://[::ffff:127.0.0.1]",
    "http://[::ffff:7f00:1]",
    "http://[64:ff9b::7f00:1]",
    "http://169.254.169.254",
    "http://localhost",
    "http://0.0.0.0",
  ])("%s gets no connection", async (base) => {
    const { port, got } = await receiver(ok);
    const answer = await sendTo(`${base}:${port}/`, { rules: nowhere });
    expect(answer).toEqual({ delivered: false, text: "the address is not allowed" });
    expect(got).toEqual([]);
  });

  it("that a public name leads to gets none, also beside a public address", async () => {
    const { port, got } = await receiver(ok);
    for (const addresses of [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["8.8.8.8", "::ffff:10.0.0.1"], ["fe80::1"]]) {
      const resolve = async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      const answer = await sendTo(`http://rebind.example:${port}/`, { rules: nowhere, resolve });
      expect(answer).toEqual({ delivered: false, text: "the address is not allowed" });
    }
    expect(got).toEqual([]);
  });

  it("that a name leads to after the check gets none: the connection goes to the checked address", async () => {
    const { port, got } = await receiver(ok);
    let asked = 0;
    // The first answer is allowed, and the second one is the metadata service's.
    const resolve = async () => [{ address: asked++ === 0 ? "127.0.0.1" : "169.254.169.254", family: 4 }];
    const answer = await sendTo(`http://rebind.example:${port}/`, { rules: addressRules(["127.0.0.1"]), resolve });
    expect(answer).toMatchObject({ delivered: true });
    expect([asked, got[0]?.headers.host]).toEqual([1, `rebind.example:${port}`]);
  });

  it("plain HTTP is refused outside of the named networks; a name that never resolves ends in time", async () => {
    const resolve = async () => [{ address: "8.8.8.8", family: 4 }];
    expect(await sendTo("http://hooks.example/", { resolve })).toMatchObject({
      text: expect.stringContaining("http is"),
    });
    expect(await sendTo("https://hooks.example/", { resolve: () => new Promise(() => undefined) })).toMatchObject({
      text: "no answer within 0.5 s",
    });
    const missing = () => Promise.reject(Object.assign(new Error("no"), { code: "ENOTFOUND" }));
    expect(await sendTo("https://hooks.example/", { resolve: missing })).toMatchObject({
      text: "the name cannot be resolved: ENOTFOUND",
    });
  });
});
