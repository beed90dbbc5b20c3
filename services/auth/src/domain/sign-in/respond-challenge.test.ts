import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { hexToBytes } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import { beforeEach, describe, expect, it } from "vitest";
import type { Session } from "../sessions/session.ts";
import { CHALLENGE_MS } from "./issue-challenge.ts";
import type { Challenge, PasskeyCounter, SignInKey } from "./ports.ts";
import { respondChallenge } from "./respond-challenge.ts";

const device = generateKeyPair();
const other = generateKeyPair();
const data = "ab".repeat(16);
const refused = (reason: string) => expect.objectContaining({ reason });
const answerOf = (key = device) =>
  ({ type: "device-key", signature: signMessage(key.privateKey, hexToBytes(data)) }) as const;

let clock: FixedClock;
let challenge: Challenge;
let key: SignInKey;
let attempts: number;
let sessions: Session[];
let blocked: unknown[];
let unregistered: boolean;
/** The passkeys of the account, and the counter that the last success stored. */
let passkeys: SignInKey[];
/** The keys whose use was recorded beside the sign-in. */
let used: unknown[];
let counter: PasskeyCounter | undefined;
let count: () => Promise<void>;
let limitSignIns: (id: string) => void;
let caller: AbortController;
/** Called while the response's account is read. */
let found: () => void;
let respond: (
  answer?: Parameters<ReturnType<typeof respondChallenge>>[0]["answer"],
  asked?: string,
) => Promise<unknown>;
beforeEach(() => {
  clock = new FixedClock("2026-11-21T10:00:00Z");
  challenge = {
    data,
    type: "device-key",
    accountId: "01900000-0000-7000-8000-000000000001",
    chainName: "flow-emulator",
    app: { appId: "demo", appName: "Demo" },
    signer: device.publicKey,
    key: undefined,
    authTime: undefined,
    expiresAt: new Date(clock.now().getTime() + CHALLENGE_MS),
  };
  key = { type: "device", accountKey: device.publicKey, deviceKey: device.publicKey, origin: "sign-up" };
  unregistered = false;
  count = async () => undefined;
  limitSignIns = () => undefined;
  caller = new AbortController();
  found = () => undefined;
  [attempts, sessions, blocked, passkeys, counter, used] = [0, [], [], [], undefined, []];
  const run = respondChallenge({
    challenges: {
      insert: async () => undefined,
      find: async (id) => (id === data && attempts < 5 ? challenge : undefined),
      countWrongAnswer: async () => {
        attempts += 1;
        return attempts <= 5;
      },
      async succeed(_data, session, _requestId, count) {
        if (blocked.includes(session.deviceKey) || blocked.includes(session.accountKey))
          throw new AppError("PleaseRegisterKey");
        counter = count;
        return sessions.push(session) === 1;
      },
    },
    findSignInKey: async () => {
      if (unregistered) throw new AppError("PleaseRegisterKey");
      return key;
    },
    recordKeyUse: (...use) => void used.push(use),
    listPasskeys: async () => passkeys,
    passkeys: { relyingPartiesOf: (appId) => (appId === "demo" ? [TEST_RELYING_PARTY] : []) },
    clock,
    limitSignIns: (id) => limitSignIns(id),
    issue: async () => ({ accessToken: "", refreshToken: "" }),
  });
  respond = (answer = answerOf(), asked = data) =>
    run({
      data: asked,
      answer,
      context: { requestId: "request", signal: caller.signal },
      count: () => count(),
      findAccount: async () => found(),
    });
});

describe("an answer to a challenge", () => {
  it("opens a session within five minutes, and none from then on", async () => {
    expect(CHALLENGE_MS).toBe(300_000);
    clock.advance(CHALLENGE_MS);
    await expect(respond()).rejects.toEqual(refused("ChallengeExpired"));
    expect([attempts, sessions]).toEqual([0, []]);
    clock.advance(-1);
    await respond();
    expect(sessions).toMatchObject([{ scope: "full", accountKey: device.publicKey }]);
  });

  it("whose caller is gone opens none: the device may have signed in since; the challenge stays for another answer", async () => {
    found = () => caller.abort();
    await expect(respond()).rejects.toEqual(refused("Unavailable"));
    expect([attempts, sessions]).toEqual([0, []]);
  });

  it("that was never issued is refused", async () => {
    await expect(respond(answerOf(), "cd".repeat(16))).rejects.toEqual(refused("UnknownChallenge"));
  });

  it("that is one too many of its address is only that: right, wrong or to no challenge", async () => {
    count = async () => {
      throw new AppError("RateLimited");
    };
    for (const [answer, asked] of [[answerOf()], [answerOf(other)], [answerOf(), "cd".repeat(16)]] as const)
      await expect(respond(answer, asked)).rejects.toEqual(refused("RateLimited"));
    expect([attempts, sessions, used]).toEqual([0, [], []]);
  });

  it("that is one too many of its key opens none and is no wrong one; wrong ones do not count", async () => {
    const counted: string[] = [];
    limitSignIns = (id) => {
      counted.push(id);
      throw new AppError("RateLimited");
    };
    await expect(respond(answerOf(other))).rejects.toEqual(refused("InvalidSignature"));
    expect(counted).toEqual([]);
    await expect(respond()).rejects.toEqual(refused("RateLimited"));
    expect(counted).toEqual([`${challenge.accountId}/${device.publicKey.publicKey}`]);
    expect([attempts, sessions]).toEqual([1, []]);
  });

  it("opens one session only", async () => {
    await respond();
    await expect(respond()).rejects.toEqual(refused("UnknownChallenge"));
  });

  it("of another key or over other bytes is wrong, and counts towards the five", async () => {
    for (let i = 0; i < 5; i += 1) await expect(respond(answerOf(other))).rejects.toEqual(refused("InvalidSignature"));
    await expect(respond()).rejects.toEqual(refused("UnknownChallenge"));
    expect(sessions).toEqual([]);
  });

  it("of another kind than was asked for is refused", async () => {
    challenge = { ...challenge, type: "passkey" };
    await expect(respond()).rejects.toEqual(refused("ChallengeTypeMismatch"));
    challenge = { ...challenge, type: "device-key", signer: undefined };
    await expect(respond()).rejects.toEqual(refused("InvalidSignature"));
  });

  it("of a key that was blocked meanwhile opens none, by the account's key and by the device's", async () => {
    key = { ...key, deviceKey: other.publicKey };
    for (const each of [device.publicKey, other.publicKey]) {
      blocked = [each];
      await expect(respond()).rejects.toEqual(refused("PleaseRegisterKey"));
    }
    expect(sessions).toEqual([]);
  });

  it("that comes within a second needs no second look at the key, whose use is recorded", async () => {
    challenge = { ...challenge, key: { ...key, deviceKey: other.publicKey, readAt: clock.now() } };
    clock.advance(999);
    await respond();
    const createdAt = new Date("2026-11-21T10:00:00Z");
    expect(sessions).toMatchObject([{ accountKey: device.publicKey, deviceKey: other.publicKey, createdAt }]);
    expect(used).toEqual([[challenge.accountId, challenge.chainName, device.publicKey, clock.now()]]);
  });

  it.each([1000, -1000])("that comes %i ms later is of the key as it is then", async (ms) => {
    challenge = { ...challenge, key: { ...key, deviceKey: other.publicKey, readAt: clock.now() } };
    clock.advance(ms);
    await respond();
    expect(sessions).toMatchObject([{ deviceKey: device.publicKey, createdAt: clock.now() }]);
    expect(used).toEqual([]);
  });

  it("of a key that was blocked meanwhile opens none, also within the second", async () => {
    challenge = { ...challenge, key: { ...key, readAt: clock.now() } };
    blocked = [device.publicKey];
    await expect(respond()).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(sessions).toEqual([]);
  });

  it.each([0, 1000])("of a key that was blocked meanwhile counts towards the five, %i ms later", async (ms) => {
    challenge = { ...challenge, key: { ...key, readAt: clock.now() } };
    clock.advance(ms);
    blocked = [device.publicKey];
    for (let i = 0; i < 5; i += 1) await expect(respond()).rejects.toEqual(refused("PleaseRegisterKey"));
    blocked = [];
    await expect(respond()).rejects.toEqual(refused("UnknownChallenge"));
    expect([attempts, sessions]).toEqual([5, []]);
  });

  it("of a key that key does not know any more counts towards the five", async () => {
    unregistered = true;
    for (let i = 0; i < 5; i += 1) await expect(respond()).rejects.toEqual(refused("PleaseRegisterKey"));
    await expect(respond()).rejects.toEqual(refused("UnknownChallenge"));
  });

  it("of a recovery key opens a session for recovery", async () => {
    key = { ...key, origin: "recovery" };
    await respond();
    expect(sessions).toMatchObject([{ scope: "recover" }]);
  });
});

describe("a passkey's answer to a challenge", () => {
  const passkey = simulatedPasskey(device);
  const login = hexToBytes(data);
  const assertionOf = (signer = passkey, ...said: [Parameters<typeof passkey.assert>[1]?]) =>
    ({ type: "passkey", ...signer.assert(login, ...said) }) as const;
  beforeEach(() => {
    challenge = { ...challenge, type: "passkey" };
    key = { ...key, type: "passkey" };
    passkeys = [key];
  });

  it("opens a session of the passkey that the challenge names, and stores its counter", async () => {
    await respond(assertionOf(passkey, { signCount: 7 }));
    expect(sessions).toMatchObject([{ scope: "full", accountKey: device.publicKey }]);
    expect(counter).toEqual({ key: device.publicKey, signCount: 7 });
  });

  it("of another passkey, for another app, another challenge or without user verification is wrong", async () => {
    await expect(respond(assertionOf(simulatedPasskey(other)))).rejects.toEqual(refused("InvalidSignature"));
    const elsewhere = assertionOf(passkey, { client: { origin: "https://evil.example" } });
    await expect(respond(elsewhere)).rejects.toEqual(refused("InvalidSignature"));
    const older = { type: "passkey", ...passkey.assert(new Uint8Array(16)) } as const;
    await expect(respond(older)).rejects.toEqual(refused("InvalidSignature"));
    await expect(respond(assertionOf(passkey, { flags: 0x19 }))).rejects.toEqual(refused("InvalidSignature"));
    challenge = { ...challenge, app: { appId: "other", appName: "Other" } };
    await expect(respond(assertionOf())).rejects.toEqual(refused("InvalidSignature"));
    expect(sessions).toEqual([]);
  });

  it("where any passkey of the account may answer opens the session of the one that did", async () => {
    challenge = { ...challenge, signer: undefined };
    passkeys = [{ ...key, accountKey: other.publicKey, deviceKey: other.publicKey }, key];
    await respond(assertionOf());
    expect(sessions).toMatchObject([{ accountKey: device.publicKey }]);
    passkeys = [];
    await expect(respond(assertionOf())).rejects.toEqual(refused("InvalidSignature"));
  });

  it("that was blocked meanwhile opens none", async () => {
    blocked = [device.publicKey];
    await expect(respond(assertionOf())).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(sessions).toEqual([]);
  });
});
