import { connect } from "node:net";
import { AppError } from "@countersign/errors";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SAMPLE_KEYS } from "../testing/fake-services.ts";
import { GOOD_REQUESTS } from "../testing/samples.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ allowedOrigins: ["https://app.example.com"], trustedProxies: ["127.0.0.1"] });
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.calls.length = 0;
  gateway.samples.length = 0;
});

const me = (headers: Record<string, string> = {}) => gateway.send("GET", "/account/v1/me", { token: "full", headers });

describe("every answer", () => {
  it("carries the request id, its own or the client's", async () => {
    expect((await me({ "x-request-id": "mine-12345" })).headers.get("x-request-id")).toBe("mine-12345");
    expect((await me({ "x-request-id": "not sane" })).headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("is counted by its route's pattern", async () => {
    await gateway.send("DELETE", GOOD_REQUESTS.endSession!.path!, { token: "full" });
    await gateway.send("GET", "/nowhere");
    await expect
      .poll(() => gateway.samples)
      .toEqual([
        { method: "DELETE", route: "/auth/v1/sessions/{id}", status: 204 },
        { method: "GET", route: "none", status: 404 },
      ]);
  });

  it("says nothing about the server", async () => {
    const { headers } = await me();
    expect(headers.has("x-powered-by")).toBe(false);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });
});

describe("problems", () => {
  it("are problem documents", async () => {
    const answer = await gateway.send("GET", "/nowhere", { headers: { "x-request-id": "request-43" } });
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(answer).toMatchObject({
      status: 404,
      json: {
        type: "urn:countersign:error:RouteNotFound",
        title: "No such path",
        status: 404,
        detail: expect.any(String),
        instance: "request-43",
        error: "RouteNotFound",
      },
    });
  });

  it("carry Retry-After, always where there are too many requests", async () => {
    gateway.fail(new AppError("RateLimited", { retryAfterSeconds: 12.3 }));
    expect((await me()).headers.get("retry-after")).toBe("13");
    gateway.fail(new AppError("RateLimited"));
    expect((await me()).headers.get("retry-after")).toBe("1");
  });

  it("name the rule of a refused signature", async () => {
    gateway.fail(new AppError("SigningRefused", { metadata: { reason: "GasLimit" } }));
    const answer = await gateway.send("POST", "/sign/v1/cadence/transaction", {
      token: "sign",
      body: { message: "00" },
    });
    expect(answer).toMatchObject({ status: 403, json: { error: "SigningRefused", reason: "GasLimit" } });
  });

  it("hide what nobody foresaw", async () => {
    gateway.fail(new Error("postgres://secret"));
    const answer = await me();
    expect(answer).toMatchObject({ status: 500, json: { error: "Internal" } });
    expect(answer.text).not.toContain("secret");
  });

  it("answer a broken path", async () => {
    const answer = await gateway.send("DELETE", "/auth/v1/sessions/%E0%A4%A", { token: "full" });
    expect(answer).toMatchObject({ status: 400, json: { error: "InvalidRequest" } });
  });

  it("answer a body that stops short of its length", async () => {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.end(
      "POST /auth/v1/token/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    );
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
    expect((await me()).status).toBe(200);
  });
});

describe("browsers", () => {
  it("may call from an allowed origin", async () => {
    const preflight = await gateway.send("OPTIONS", "/auth/v1/signup", {
      headers: { origin: "https://app.example.com", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    const { headers } = await me({ origin: "https://app.example.com" });
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    expect(headers.get("access-control-expose-headers")).toContain("X-Request-Id");
  });

  it("may not from any other", async () => {
    expect((await me({ origin: "https://evil.example.com" })).headers.has("access-control-allow-origin")).toBe(false);
  });
});

describe("the client's address", () => {
  const addressOf = async (forwarded: string) => {
    await me({ "x-forwarded-for": forwarded });
    return gateway.calls.at(-1)!.options.call.clientIp;
  };

  it("comes from the last hop that is not a trusted proxy", async () => {
    expect(await addressOf("203.0.113.9, 198.51.100.7")).toBe("198.51.100.7");
  });

  it("is the connection's where no proxy is trusted", async () => {
    const plain = await startTestGateway();
    await plain.send("GET", "/account/v1/me", { token: "full", headers: { "x-forwarded-for": "203.0.113.9" } });
    expect(plain.calls[0]!.options.call.clientIp).toBe("127.0.0.1");
    await plain.stop();
  });
});

describe("keys", () => {
  const signUp = (userKey: object) =>
    gateway.send("POST", "/auth/v1/signup", { body: { ...GOOD_REQUESTS.signUp!.body, userKey } });
  const seenKey = () =>
    gateway.calls[0]!.request.userKey as Record<"accountKey" | "deviceKey", { algorithm: number; bytes: Buffer }>;

  it.each([
    SAMPLE_KEYS.p256.toUpperCase(),
    `0x${SAMPLE_KEYS.p256}`,
    `04${SAMPLE_KEYS.p256}`,
    SAMPLE_KEYS.p256Compressed,
  ])("are brought into one form: %s", async (publicKey) => {
    await signUp({ type: "device", publicKey, device: {} });
    expect(seenKey().accountKey.bytes.toString("hex")).toBe(SAMPLE_KEYS.p256);
    expect(seenKey().deviceKey).toEqual(seenKey().accountKey);
  });

  it("may be another one for the device", async () => {
    const device = { publicKey: SAMPLE_KEYS.ed25519 };
    await signUp({ type: "device", publicKey: SAMPLE_KEYS.secp256k1, algorithm: "ES256K", device });
    expect(seenKey()).toMatchObject({ accountKey: { algorithm: 2 }, deviceKey: { algorithm: 3 } });
  });

  it.each([
    [{ publicKey: SAMPLE_KEYS.secp256k1 }, "/userKey/publicKey"],
    [{ publicKey: "zz" }, "/userKey/publicKey"],
    [{ publicKey: "00".repeat(64) }, "/userKey/publicKey"],
    [{ publicKey: SAMPLE_KEYS.p256, device: { publicKey: "00" } }, "/userKey/device/publicKey"],
  ])("must be points of their curve: %j", async (userKey, pointer) => {
    const answer = await signUp({ type: "device", device: {}, ...userKey });
    expect(answer).toMatchObject({ status: 400, json: { error: "InvalidPublicKey", errors: [{ pointer }] } });
  });

  it("in a path may be of either curve", async () => {
    const path = `/device/v1/devices/0x${SAMPLE_KEYS.secp256k1}`;
    expect(await gateway.send("PUT", path, { token: "full", body: {} })).toMatchObject({ status: 200 });
    expect(await gateway.send("PUT", "/device/v1/devices/nope", { token: "full", body: {} })).toMatchObject({
      status: 400,
      json: { error: "InvalidPublicKey" },
    });
  });
});

describe("sign-up", () => {
  const { body } = GOOD_REQUESTS.signUp!;
  const signUp = (headers: Record<string, string>) => gateway.send("POST", "/auth/v1/signup", { body, headers });

  it.each([
    ["abc-123", "abc-123"],
    ['"abc 123"', "abc 123"],
  ])("takes the idempotency key %s", async (header, key) => {
    await signUp({ "idempotency-key": header });
    expect(gateway.calls[0]!.request.idempotencyKey).toBe(key);
  });

  it.each(["two words", "x".repeat(256), '"open'])("refuses the idempotency key %s", async (header) => {
    expect(await signUp({ "idempotency-key": header })).toMatchObject({
      status: 400,
      json: { error: "InvalidRequest" },
    });
  });

  it("passes a full session's token on, for a further chain", async () => {
    await signUp({ authorization: "bearer full" });
    expect(gateway.calls[0]!.options.call).toMatchObject({ rawToken: "full", token: { scope: "full" } });
    expect(await signUp({ authorization: "Bearer sign" })).toMatchObject({ status: 403 });
    expect(await signUp({ authorization: "Basic abc" })).toMatchObject({ status: 401 });
  });
});

describe("sign-in", () => {
  it("answers NotImplemented to passkeys", async () => {
    const challenge = { ...GOOD_REQUESTS.issueChallenge!.body, challengeType: "passKey", publicKey: undefined };
    expect(await gateway.send("POST", "/auth/v1/signin/challenge", { body: challenge })).toMatchObject({ status: 501 });
  });

  it("does without a login token only where development says so", async () => {
    const lenient = await startTestGateway({ requireLoginToken: false });
    const body = { ...GOOD_REQUESTS.issueChallenge!.body, request: { chainName: "flow-emulator" } };
    expect(await lenient.send("POST", "/auth/v1/signin/challenge", { body })).toMatchObject({ status: 200 });
    await lenient.stop();
  });
});

describe("resources", () => {
  it("are in the form of the contract", async () => {
    const { json } = await me();
    expect(json.account).toMatchObject({
      addresses: [{ address: "0x01cf0e2f2f715450", chainId: 646, domainName: "" }],
      parent: [],
      createdAt: "2026-11-20T10:00:00.000Z",
    });
    const keys = await gateway.send("GET", "/key/v1/keys?include_revoked=true", { token: "full" });
    expect(gateway.calls.at(-1)!.request).toEqual({ includeRevoked: true });
    expect(keys.json.keys).toMatchObject([
      { type: "user-key", recoverKey: null, userKey: { type: "device", device: { pushToken: "" } }, revokedAt: "" },
      {
        type: "recover-key",
        userKey: null,
        recoverKey: { cloudKey: { accountName: "ada" } },
        pending: true,
        keyIndex: -1,
      },
    ]);
    const signed = await gateway.send("POST", "/sign/v1/cadence/paymaster", {
      token: "full",
      body: { message: "0xABCD" },
    });
    expect(signed.json).toEqual({ signature: { addr: "0x01cf0e2f2f715450", keyId: 2, signature: "ab".repeat(64) } });
    expect(gateway.calls.at(-1)!.request.message).toEqual(Buffer.from([0xab, 0xcd]));
  });

  it("refuse a query that is not true or false", async () => {
    for (const query of ["yes", "true&include_revoked=false", ""]) {
      const answer = await gateway.send("GET", `/key/v1/keys?include_revoked=${query}`, { token: "full" });
      expect(answer).toMatchObject({ status: 400, json: { errors: [{ pointer: "/include_revoked" }] } });
    }
  });
});

describe("pages", () => {
  it("describe the API", async () => {
    const { json } = await gateway.send("GET", "/openapi.json");
    const paths = json.paths as Record<string, Record<string, { operationId: string }>>;
    expect(json.openapi).toBe("3.1.1");
    const operations = Object.values(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(operations.sort()).toEqual(gateway.routes.map(({ operationId }) => operationId).sort());
    expect(new Set(operations).size).toBe(operations.length);
    expect(JSON.stringify(json)).not.toContain("$schema");
  });

  it("end a login in a browser without showing anything of it", async () => {
    const answer = await gateway.send("GET", "/callback?code=the-secret-code");
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain("the-secret-code");
  });
});
