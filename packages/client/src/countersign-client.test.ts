import { payloadMessage } from "@countersign/flow";
import { verifySignature } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { ProblemError } from "./problem-error.ts";
import { fakeServer } from "./testing/fake-server.ts";

const deviceKey = generateDeviceKey();
const credentials = { accessToken: "access-1", refreshToken: "refresh-1" };
const next = { accessToken: "access-2", refreshToken: "refresh-2" };
const baseUrl = "http://gateway.test/";
const login = { method: "id_token_channel", token: "id-token" } as const;
const expired = { error: "AccessTokenExpired", title: "The access token has expired", instance: "r-1" };

describe("CountersignClient", () => {
  it("signs up with the device's key and keeps the tokens", async () => {
    const { seen, fetch } = fakeServer([200, { account: {}, transaction: {}, credentials }]);
    const kept: unknown[] = [];
    const client = new CountersignClient({ baseUrl, deviceKey, fetch, onCredentials: (pair) => kept.push(pair) });
    await client.signUp({ login, chainName: "flow-emulator", device: { name: "Phone" }, idempotencyKey: "once" });
    expect(seen[0]).toMatchObject({
      method: "POST",
      path: "/auth/v1/signup",
      body: {
        ...login,
        chainName: "flow-emulator",
        userKey: { type: "device", publicKey: deviceKey.publicKey, algorithm: "ES256", device: { name: "Phone" } },
      },
    });
    expect(seen[0]!.headers.get("idempotency-key")).toBe("once");
    expect(seen[0]!.headers.has("authorization")).toBe(false);
    expect(kept).toEqual([credentials]);
    expect(client.credentials).toEqual(credentials);
  });

  it("answers a challenge with a signature over its bytes", async () => {
    const challengeData = "000102030405060708090a0b0c0d0e0f";
    const { seen, fetch } = fakeServer(
      [200, { challengeData, expiresAt: "" }],
      [200, { account: {}, transaction: {}, credentials }],
    );
    await new CountersignClient({ baseUrl, deviceKey, fetch }).signIn({ login, chainName: "flow-emulator" });
    const { deviceKey: answer } = seen[1]!.body as { deviceKey: { signature: string } };
    const signature = Buffer.from(answer.signature, "hex");
    expect(verifySignature(deviceKey, Buffer.from(challengeData, "hex"), signature)).toBe(true);
  });

  it("signs no challenge that could be a transaction", async () => {
    const address = "e03daebed8ca0615";
    const transaction = payloadMessage({
      script: "transaction {}",
      arguments: [],
      referenceBlockId: "00".repeat(32),
      gasLimit: 1000n,
      proposalKey: { address, keyId: 0, sequenceNumber: 0n },
      payer: address,
      authorizers: [address],
    });
    for (const challenge of [transaction, new Uint8Array(0), new Uint8Array(15), new Uint8Array(17)]) {
      const challengeData = Buffer.from(challenge).toString("hex");
      const { seen, fetch } = fakeServer([200, { challengeData, expiresAt: "" }], [200, { credentials }]);
      const client = new CountersignClient({ baseUrl, deviceKey, fetch });
      await expect(client.signIn({ login, chainName: "flow-emulator" })).rejects.toThrow(TypeError);
      expect(seen).toHaveLength(1);
    }
  });

  it("refreshes an expired token once for all calls, and repeats them", async () => {
    const { seen, fetch } = fakeServer(
      [401, expired],
      [401, expired],
      [200, { credentials: next }],
      [200, { devices: [] }],
      [200, { keys: [] }],
    );
    const client = new CountersignClient({ baseUrl, deviceKey, fetch, credentials });
    await Promise.all([client.devices(), client.keys()]);
    expect(seen.map(({ path }) => path).filter((path) => path.endsWith("refresh"))).toHaveLength(1);
    expect(seen.slice(3).map(({ headers }) => headers.get("authorization"))).toEqual(Array(2).fill("Bearer access-2"));
  });

  it("does not refresh for ever", async () => {
    const { fetch } = fakeServer([401, expired], [200, { credentials: next }], [401, expired]);
    const client = new CountersignClient({ baseUrl, deviceKey, fetch, credentials });
    await expect(client.me()).rejects.toMatchObject({ error: "AccessTokenExpired" });
  });

  it("names the fields that are not valid in the error's message", async () => {
    const errors = [
      { pointer: "/userKey/device/name", detail: "Too long" },
      { pointer: "/method", detail: "Required" },
    ];
    const { fetch } = fakeServer([400, { error: "InvalidRequest", detail: "Some fields are not valid", errors }]);
    const client = new CountersignClient({ baseUrl, deviceKey, fetch });
    await expect(client.signUp({ login, chainName: "flow-emulator" })).rejects.toThrow(
      "400 InvalidRequest: Some fields are not valid: /userKey/device/name Too long; /method Required",
    );
  });

  it.each([undefined, "localhost:8080", "gateway.test"])("refuses the base URL %j, and says which to give", (wrong) => {
    const create = () => new CountersignClient({ baseUrl: wrong as string, deviceKey });
    expect(create).toThrow(
      `baseUrl is ${JSON.stringify(wrong)}: give the gateway's address, such as https://api.example.com`,
    );
  });

  it.each([undefined, Promise.resolve(deviceKey)])("refuses %o as device key, and says how to get one", (wrong) => {
    const create = () => new CountersignClient({ baseUrl, deviceKey: wrong as never });
    expect(create).toThrow("deviceKey is no key: give the one that `await loadOrCreateKey(store)` returns");
  });

  it("takes a base URL in capitals", () => {
    expect(new CountersignClient({ baseUrl: "HTTPS://GATEWAY.TEST", deviceKey })).toBeInstanceOf(CountersignClient);
  });

  it("turns problem documents into errors", async () => {
    const document = {
      error: "SigningRefused",
      reason: "GasLimit",
      title: "No",
      detail: "too much gas",
      instance: "r-9",
    };
    const { fetch } = fakeServer([403, document, { "retry-after": "7" }]);
    const client = new CountersignClient({ baseUrl, deviceKey, fetch, credentials });
    const error = await client.signTransaction("00").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProblemError);
    expect(error).toMatchObject({
      status: 403,
      error: "SigningRefused",
      reason: "GasLimit",
      requestId: "r-9",
      retryAfterSeconds: 7,
    });
  });

  it("survives an answer that is no problem document", async () => {
    const fetch = async () => new Response("<html>", { status: 502 });
    const client = new CountersignClient({ baseUrl, deviceKey, fetch, credentials });
    await expect(client.me()).rejects.toMatchObject({ status: 502, error: "Unknown" });
  });

  it("calls an answer of another program a ProblemError, which says so", async () => {
    for (const [status, body] of [
      [200, "<html>"],
      [200, "null"],
      [404, "<html>"],
      [400, '{"errors":[null,{"message":"no"}]}'],
    ] as const) {
      const message = `${status} Unknown: not an answer of the service: check baseUrl, and the proxies before it`;
      const fetch = async () => new Response(body, { status });
      const error = await new CountersignClient({ baseUrl, deviceKey, fetch }).me().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ProblemError);
      expect(error).toMatchObject({ status, message });
    }
  });

  it("forgets the tokens when signed out", async () => {
    const { fetch } = fakeServer([204]);
    const client = new CountersignClient({ baseUrl, deviceKey, fetch, credentials });
    await client.signOut();
    expect(client.credentials).toBeUndefined();
  });
});
