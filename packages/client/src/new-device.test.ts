import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import { isMatchingCodeOf } from "./key-addition.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";
import { askedBy } from "./testing/two-factor.ts";

const deviceKey = generateDeviceKey();
const login = { method: "id_token_channel", token: "id-token" } as const;
const credentials = { accessToken: "access-1", refreshToken: "refresh-1" };
const signedIn = { account: {}, transaction: {}, credentials };
const asked = { twoFactorAuth: askedBy(deviceKey), ephemeralAccessToken: "ephemeral" };
const pending = (retryAfter?: string): Answer => [
  409,
  { error: "TwoFactorAuthPending" },
  retryAfter === undefined ? {} : { "retry-after": retryAfter },
];

function newDevice(...answers: Answer[]) {
  const { seen, fetch } = fakeServer(...answers);
  return { seen, client: new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, randomBytes }) };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a new device", () => {
  it("requests enrollment with its own key, and shows a code that the other side knows", async () => {
    const { client, seen } = newDevice([200, asked]);
    const options = { login, chainName: "flow-emulator", device: { name: "Tablet" }, idempotencyKey: "once" };
    expect(await client.requestTwoFactor(options)).toEqual(asked);
    const { publicKey, algorithm } = deviceKey;
    expect(seen[0]).toMatchObject({
      method: "POST",
      path: "/auth/v1/signin/2fa",
      body: {
        request: { ...login, chainName: "flow-emulator" },
        userKey: { type: "device", publicKey, algorithm, device: { publicKey, algorithm, name: "Tablet" } },
      },
    });
    expect(seen[0]!.headers.get("idempotency-key")).toBe("once");
    expect(seen[0]!.headers.has("authorization")).toBe(false);
    expect(isMatchingCodeOf(asked.twoFactorAuth, client.matchingCode())).toBe(true);
  });

  it("finishes with the ephemeral token and keeps the session's", async () => {
    const { client, seen } = newDevice([200, signedIn]);
    await client.finishTwoFactor("the-id", "ephemeral");
    expect(seen[0]).toMatchObject({
      path: "/auth/v1/signin/2fa/finish",
      body: { twoFactorAuthRequestId: "the-id" },
    });
    expect(seen[0]!.headers.get("authorization")).toBe("Bearer ephemeral");
    expect(client.credentials).toEqual(credentials);
  });
});

describe("waiting", () => {
  it("polls as often as the server says, until it is enrolled", async () => {
    const { client, seen } = newDevice(
      pending("3"),
      [429, { error: "RateLimited" }, { "retry-after": "5" }],
      pending(),
      [503, { error: "Unavailable" }],
      new TypeError("fetch failed"),
      [200, signedIn],
    );
    const work = client.waitForTwoFactor(asked);
    const asks: number[] = [];
    for (const seconds of [0, 2.9, 0.2, 4.8, 0.2, 1, 2, 2]) {
      await vi.advanceTimersByTimeAsync(seconds * 1_000);
      asks.push(seen.length);
    }
    expect(asks).toEqual([1, 1, 2, 2, 3, 4, 5, 6]);
    expect(await work).toEqual(signedIn);
    expect(client.credentials).toEqual(credentials);
  });

  it.each([
    [403, "TwoFactorAuthRejected"],
    [410, "TwoFactorAuthExpired"],
    [409, "TwoFactorAuthFailed"],
    [409, "TwoFactorAuthFinished"],
    [401, "AccessTokenExpired"],
    [404, "TwoFactorAuthNotFound"],
  ])("ends with %i %s", async (status, error) => {
    const { client, seen } = newDevice(pending("1"), [status, { error }], [200, signedIn]);
    const work = expect(client.waitForTwoFactor(asked)).rejects.toMatchObject({ status, error });
    await vi.advanceTimersByTimeAsync(1_000);
    await work;
    expect(seen).toHaveLength(2);
    expect(client.credentials).toBeUndefined();
  });

  it("signs in by challenge where the device was on the account already, or the answer was lost", async () => {
    const challenge = { challengeData: "ab".repeat(16), expiresAt: "2026-11-20T10:05:00.000Z" };
    const { client, seen } = newDevice([409, { error: "TwoFactorAuthFinished" }], [200, challenge], [200, signedIn]);
    const signIn = { login, chainName: "flow-emulator" };
    expect(await client.waitForTwoFactor(asked, { signIn })).toEqual(signedIn);
    expect(seen.map(({ path }) => path)).toEqual([
      "/auth/v1/signin/2fa/finish",
      "/auth/v1/signin/challenge",
      "/auth/v1/signin/challenge/respond",
    ]);
  });

  it("ends with the signal, before, while and between asking", async () => {
    const before = newDevice([200, signedIn]);
    const reason = new Error("gone");
    const aborted = before.client.waitForTwoFactor(asked, { signal: AbortSignal.abort(reason) });
    await expect(aborted).rejects.toBe(reason);
    expect(before.seen).toHaveLength(0);

    const between = newDevice(pending("60"), [200, signedIn]);
    const abort = new AbortController();
    const work = expect(between.client.waitForTwoFactor(asked, { signal: abort.signal })).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(10);
    abort.abort(reason);
    await work;
    expect(between.seen).toHaveLength(1);

    const hanging = new AbortController();
    const fetch = (_input: unknown, init?: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason));
      });
    const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch });
    const waiting = expect(client.waitForTwoFactor(asked, { signal: hanging.signal })).rejects.toBe(reason);
    await vi.advanceTimersByTimeAsync(10);
    hanging.abort(reason);
    await waiting;
  });
});
