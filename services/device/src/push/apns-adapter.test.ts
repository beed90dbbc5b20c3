import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { createServer, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { FixedClock } from "@countersign/core/testing";
import { jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createApnsAdapter } from "./apns-adapter.ts";
import { providerToken } from "./apns-provider-token.ts";
import { type PushAdapter, PushDelayed, PushRefused } from "./push-adapter.ts";

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const privateKeyPem = privateKey.export({ format: "pem", type: "pkcs8" }) as string;
const pushToken = "AB".repeat(32);
let clock: FixedClock;
let server: Http2Server;
let sessions: Set<ServerHttp2Session>;
let seen: { headers: IncomingHttpHeaders; body: Record<string, unknown> }[];
let answer: { status: number; reason?: string; headers?: Record<string, string> };
let adapter: PushAdapter;

beforeEach(async () => {
  clock = new FixedClock("2026-11-20T10:00:00Z");
  seen = [];
  sessions = new Set();
  answer = { status: 200 };
  server = createServer();
  server.on("session", (session) => void sessions.add(session.on("error", () => undefined)));
  server.on("stream", async (stream, headers) => {
    stream.on("error", () => undefined);
    let text = "";
    for await (const chunk of stream) text += chunk;
    seen.push({ headers, body: JSON.parse(text) });
    if (answer.status === 0) return;
    stream.respond({ ":status": answer.status, ...answer.headers });
    stream.end(answer.reason === undefined ? "" : JSON.stringify({ reason: answer.reason }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  adapter = createApnsAdapter({
    token: providerToken({ privateKeyPem, keyId: "KEY1234567", teamId: "TEAM123456" }, clock),
    topic: "org.example.app",
    clock,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs: 300,
  });
});
afterEach(async () => {
  await adapter.close();
  for (const session of sessions) session.destroy();
  server.close();
});

const message = () => ({
  pushToken,
  kind: "two-factor.requested" as const,
  twoFactorId: "id-1",
  collapseKey: "id-1",
  visible: true,
  expiresAt: new Date(clock.now().getTime() + 300_000),
});

describe("APNs", () => {
  it("gets ids and a kind, and nothing else", async () => {
    expect(await adapter.send(message())).toBe("sent");
    expect(seen[0]).toMatchObject({
      headers: {
        ":method": "POST",
        ":path": `/3/device/${"ab".repeat(32)}`,
        "apns-topic": "org.example.app",
        "apns-push-type": "alert",
        "apns-priority": "10",
        "apns-collapse-id": "id-1",
        "apns-expiration": String(clock.now().getTime() / 1_000 + 300),
      },
    });
    expect(seen[0]!.body).toEqual({
      aps: { alert: { "loc-key": "two-factor.requested" }, sound: "default" },
      kind: "two-factor.requested" as const,
      twoFactorId: "id-1",
    });
    await adapter.send({ ...message(), visible: false });
    expect(seen[1]!.headers).toMatchObject({ "apns-push-type": "background", "apns-priority": "5" });
    expect(seen[1]!.body.aps).toEqual({ "content-available": 1 });
    expect(sessions.size).toBe(1);
  });

  it("is shown a token of the team's key, made again before its hour is over", async () => {
    const tokenOf = (index: number) => (seen[index]!.headers.authorization as string).replace("bearer ", "");
    await adapter.send(message());
    clock.advance(49 * 60_000);
    await adapter.send(message());
    clock.advance(60_000);
    await adapter.send(message());
    expect(tokenOf(1)).toBe(tokenOf(0));
    expect(tokenOf(2)).not.toBe(tokenOf(0));
    const { payload, protectedHeader } = await jwtVerify(tokenOf(2), publicKey);
    expect(protectedHeader).toEqual({ alg: "ES256", kid: "KEY1234567" });
    expect(payload).toEqual({ iss: "TEAM123456", iat: clock.now().getTime() / 1_000 });
  });

  it("makes a token again that Apple says is over, but not again and again", async () => {
    answer = { status: 403, reason: "ExpiredProviderToken" };
    for (const minutes of [0, 10, 30]) {
      clock.advance(minutes * 60_000);
      await expect(adapter.send(message())).rejects.toBeInstanceOf(PushDelayed);
    }
    await expect(adapter.send(message())).rejects.toBeInstanceOf(PushDelayed);
    const tokens = seen.map(({ headers }) => headers.authorization);
    expect(tokens[1]).toBe(tokens[0]);
    expect(tokens[2]).toBe(tokens[0]);
    expect(tokens[3]).not.toBe(tokens[0]);
  });

  it.each([
    [410, "Unregistered"],
    [400, "BadDeviceToken"],
    [400, "DeviceTokenNotForTopic"],
  ])("rejects a token: %d %s", async (status, reason) => {
    answer = { status, reason };
    expect(await adapter.send(message())).toBe("rejected");
  });

  it("rejects what is no device token without asking: it would become part of a path", async () => {
    expect(await adapter.send({ ...message(), pushToken: "../../x" })).toBe("rejected");
    expect(seen).toHaveLength(0);
  });

  it.each([
    // Of one device token: the others' pushes do not wait.
    [429, "TooManyRequests", "5", undefined],
    [429, "TooManyProviderTokenUpdates", "5", 5_000],
    [503, "ServiceUnavailable", undefined, undefined],
    [500, "InternalServerError", undefined, undefined],
    [403, "InvalidProviderToken", undefined, undefined],
  ])("waits: %d %s", async (status, reason, retryAfter, retryAfterMs) => {
    answer = { status, reason, headers: retryAfter === undefined ? {} : { "retry-after": retryAfter } };
    const error = await adapter.send(message()).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PushDelayed);
    expect((error as PushDelayed).retryAfterMs).toBe(retryAfterMs);
  });

  it("gives up what Apple will never take", async () => {
    answer = { status: 413, reason: "PayloadTooLarge" };
    await expect(adapter.send(message())).rejects.toBeInstanceOf(PushRefused);
    answer = { status: 400, reason: "../../BadPath secrets" };
    await expect(adapter.send(message())).rejects.toThrow("without a code");
  });

  it("opens a new connection where the old one went or is silent", async () => {
    await adapter.send(message());
    for (const session of sessions) session.destroy();
    await expect.poll(() => adapter.send(message()).catch(() => "failed")).toBe("sent");
    answer = { status: 0 };
    await expect(adapter.send(message())).rejects.toBeInstanceOf(PushDelayed);
    answer = { status: 200 };
    expect(await adapter.send(message())).toBe("sent");
    for (const session of sessions) if (!session.destroyed) session.goaway();
    await expect.poll(() => adapter.send(message()).catch(() => "failed")).toBe("sent");
  });
});
