import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { FixedClock } from "@countersign/core/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFcmAdapter } from "./fcm-adapter.ts";
import { PushDelayed, PushRefused } from "./push-adapter.ts";

const clock = new FixedClock();
const message = {
  pushToken: "fcm:token/with?odd=characters",
  kind: "two-factor.requested" as const,
  twoFactorId: "019a0000-0000-7000-8000-000000000001",
  collapseKey: "019a0000-0000-7000-8000-000000000001",
  visible: true,
  expiresAt: new Date(clock.now().getTime() + 300_000),
};

let server: Server;
let seen: { url: string; authorization: string; body: unknown }[];
let answer: { status: number; body?: unknown; headers?: Record<string, string> };

beforeEach(async () => {
  seen = [];
  answer = { status: 200, body: { name: "projects/p/messages/1" } };
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    seen.push({ url: request.url!, authorization: request.headers.authorization!, body: JSON.parse(text) });
    if (answer.status === 0) return;
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    response.end(JSON.stringify(answer.body ?? {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const adapter = () =>
  createFcmAdapter({
    projectId: "demo project",
    accessToken: async () => "google-token",
    clock,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    timeoutMs: 300,
  });
const fcmError = (status: number, code: string, details: unknown[] = []) => ({
  status,
  body: { error: { code: status, status: code, message: "…", details } },
});
const errorCode = (code: string) => ({
  "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
  errorCode: code,
});

describe("FCM", () => {
  it("gets ids and a kind, and nothing else", async () => {
    expect(await adapter().send(message)).toBe("sent");
    expect(seen).toEqual([
      {
        url: "/v1/projects/demo%20project/messages:send",
        authorization: "Bearer google-token",
        body: {
          message: {
            token: message.pushToken,
            data: { kind: message.kind, twoFactorId: message.twoFactorId },
            android: { collapse_key: message.collapseKey, priority: "HIGH", ttl: "300s" },
          },
        },
      },
    ]);
    await adapter().send({ ...message, visible: false, expiresAt: new Date(0) });
    expect(seen[1]!.body).toMatchObject({ message: { android: { priority: "NORMAL", ttl: "0s" } } });
  });

  it.each([
    ["an unregistered token", fcmError(404, "NOT_FOUND", [errorCode("UNREGISTERED")])],
    ["another sender's token", fcmError(403, "PERMISSION_DENIED", [errorCode("SENDER_ID_MISMATCH")])],
    [
      "a token that is none",
      fcmError(400, "INVALID_ARGUMENT", [
        { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [{ field: "message.token" }] },
      ]),
    ],
  ])("rejects %s", async (_name, given) => {
    answer = given;
    expect(await adapter().send(message)).toBe("rejected");
  });

  it.each([
    ["too many", { ...fcmError(429, "RESOURCE_EXHAUSTED"), headers: { "retry-after": "7" } }, 7_000],
    [
      "a date to wait for",
      {
        ...fcmError(503, "UNAVAILABLE"),
        headers: { "retry-after": new Date(clock.now().getTime() + 9_000).toUTCString() },
      },
      9_000,
    ],
    ["an error of theirs", fcmError(500, "INTERNAL"), undefined],
    ["our credentials", fcmError(401, "UNAUTHENTICATED"), undefined],
    ["our project", fcmError(403, "PERMISSION_DENIED"), undefined],
  ])("waits for %s", async (_name, given, retryAfterMs) => {
    answer = given;
    const error = await adapter()
      .send(message)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(PushDelayed);
    expect((error as PushDelayed).retryAfterMs).toBe(retryAfterMs);
    expect(String(error)).not.toContain(message.pushToken);
  });

  it("makes no other device wait where the limit is one device's", async () => {
    answer = {
      ...fcmError(429, "RESOURCE_EXHAUSTED", [errorCode("QUOTA_EXCEEDED")]),
      headers: { "retry-after": "600" },
    };
    await expect(adapter().send(message)).rejects.toMatchObject({ name: "PushDelayed", retryAfterMs: undefined });
  });

  it("does not throw a token away for a project that is not there, nor for a message that is wrong", async () => {
    answer = fcmError(404, "NOT_FOUND");
    await expect(adapter().send(message)).rejects.toBeInstanceOf(PushRefused);
    answer = fcmError(400, "INVALID_ARGUMENT", [errorCode("INVALID_ARGUMENT")]);
    await expect(adapter().send(message)).rejects.toBeInstanceOf(PushRefused);
  });

  it("waits for a server that does not answer or is not there", async () => {
    answer = { status: 0 };
    await expect(adapter().send(message)).rejects.toBeInstanceOf(PushDelayed);
    const gone = adapter();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(gone.send(message)).rejects.toBeInstanceOf(PushDelayed);
  });
});
