import { AppError, type Reason, systemClock, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { Session } from "../sessions/session.ts";
import { decideSignUp, isOwnFurtherChain, SAGA_LEASE_MS, type SignUpOptions, signUp } from "./sign-up.ts";
import {
  type Deployed,
  type LeasedSignUp,
  type LeaseSignUp,
  SIGN_UP_STEPS,
  type SignUpFacts,
  type SignUpSaga,
} from "./sign-up-saga.ts";

const key = { algorithm: "ES256" as const, publicKey: "ab".repeat(64) };
const session = { accountId: "account", accountKey: key, deviceKey: key } as unknown as VerifiedToken;

/** Asks for an identity that has an account, with the token and its refusal. Returns the error. */
async function refused(token: VerifiedToken | undefined, tokenRefusal: Reason | undefined): Promise<AppError> {
  const leases: unknown[] = [];
  const options = {
    verifyLogin: async () => ({ issuer: "i", subject: "s", picture: "", app: { appId: "demo", appName: "Demo" } }),
    store: {
      lease: async (command: { session: unknown }) => {
        leases.push(command.session);
        return { kind: "account-exists" };
      },
    },
    chains: new Set(["flow"]),
    requireAttestation: async () => undefined,
    passkeys: { relyingPartiesOf: () => [] },
    clock: systemClock,
  } as unknown as SignUpOptions<never>;
  const command = {
    login: { method: "id-token", token: "t" },
    chainName: "flow",
    userKeyType: "device",
    accountKey: key,
    deviceKey: key,
    device: {},
    idempotencyKey: "",
    token,
    tokenRefusal,
    context: { requestId: "request-1", signal: new AbortController().signal },
  } as unknown as Parameters<ReturnType<typeof signUp>>[0];
  const error: unknown = await signUp(options)(command).catch((thrown) => thrown);
  // A refused token is never a session.
  expect(leases).toEqual([token && { accountId: "account", accountKey: key, deviceKey: key }]);
  return error as AppError;
}

it("the error for an identity with an account says what was wrong with the session that was sent", async () => {
  const expired = await refused(undefined, "AccessTokenExpired");
  expect(expired).toMatchObject({ reason: "AccountExists" });
  expect(expired.detail).toContain("the access token that was sent does not count (AccessTokenExpired)");
  expect((await refused(undefined, undefined)).detail).toMatch(/sign in instead/);
  expect((await refused(session, undefined)).detail).toMatch(
    /a full session of this account and that session's own keys$/,
  );
});

it("where it cannot be known whether the session holds, the answer is Unavailable", async () => {
  expect(await refused(undefined, "Unavailable")).toBeInstanceOf(AppError);
  expect(await refused(undefined, "Unavailable")).toMatchObject({ reason: "Unavailable" });
});

interface Answers {
  status: Deployed["status"];
  leased: LeasedSignUp;
  /** Why the key service does not answer. */
  registerKey: AppError;
  /** Why the database does not record that the runner gives up. */
  giveUp: Error;
  /** Why the app's attestation is refused. */
  attestation: AppError;
  /** The session of an earlier request of the sign-up; undefined where it has ended. */
  begun: (beginning: Session) => Session | undefined;
}

/** Returns a sign-up on a store and services in memory. */
function world({ status = "deployed", leased, registerKey, giveUp, attestation, begun }: Partial<Answers> = {}) {
  const clock = new FixedClock("2026-11-21T10:00:00Z");
  const leases: LeaseSignUp[] = [];
  const sessions: Session[] = [];
  const asked: unknown[] = [];
  const calls: string[] = [];
  const attested: string[] = [];
  const marks: Date[] = [];
  const run = signUp<Deployed>({
    verifyLogin: async (_login, keys) => {
      calls.push(`login for ${keys.length} keys`);
      return {
        issuer: "https://idp.example",
        subject: "ann",
        email: "",
        name: "",
        picture: "",
        app: { appId: "demo", appName: "Demo" },
        authTime: clock.now(),
      };
    },
    async requireAttestation(operation, appId, { login }) {
      attested.push(`${operation} for ${appId} with login ${login.token}`);
      if (attestation) throw attestation;
    },
    store: {
      async lease(command) {
        leases.push(command);
        const { newAccountId: accountId } = command;
        return leased ?? { kind: "drive", saga: { ...command, accountId, createdAt: command.now, done: new Set() } };
      },
      mark: async (_saga, _steps, now) => void marks.push(now),
      async giveUp({ accountId }) {
        if (giveUp) throw giveUp;
        calls.push(`gave up ${accountId === leases[0]?.newAccountId}`);
      },
      leaseAbandoned: async () => [],
    },
    sessions: {
      async begin(session, _requestId, request) {
        sessions.push(session);
        asked.push(request);
        return begun ? begun(session) : session;
      },
    },
    steps: {
      async deployAccount(_saga, { keepFailed }) {
        expect(keepFailed).toBe(false);
        return { status };
      },
      async registerKey() {
        if (registerKey) throw registerKey;
        calls.push("key");
      },
      registerDevice: async () => void calls.push("device"),
    },
    chains: new Set(["flow"]),
    passkeys: { relyingPartiesOf: () => [] },
    clock,
    issue: async ({ id }) => ({ accessToken: id, refreshToken: "" }),
  });
  const accountKey = generateKeyPair().publicKey;
  const command = {
    login: { method: "id_token_channel", token: "t", provider: "", redirectUri: "", codeVerifier: "", nonce: "" },
    chainName: "flow",
    userKeyType: "device",
    accountKey,
    deviceKey: generateKeyPair().publicKey,
    device: {} as Parameters<typeof run>[0]["device"],
    idempotencyKey: "",
    attestation: undefined,
    token: undefined,
    tokenRefusal: undefined,
    context: { requestId: "request", signal: new AbortController().signal },
  } as const;
  return {
    clock,
    leases,
    sessions,
    asked,
    calls,
    attested,
    marks,
    command,
    signUp: (change: Partial<Parameters<typeof run>[0]> = {}) => run({ ...command, ...change }),
  };
}

describe("signUp", () => {
  it("begins nothing where the app's attestation is refused, also on a further chain", async () => {
    const { signUp: run, leases, sessions } = world({ attestation: new AppError("InvalidAttestation") });
    const refused = expect.objectContaining({ reason: "InvalidAttestation" });
    await expect(run()).rejects.toEqual(refused);
    await expect(run({ token: session })).rejects.toEqual(refused);
    expect([leases, sessions]).toEqual([[], []]);
  });

  it("verifies the login for both keys, then opens a full session of the new account", async () => {
    const { calls, attested, marks, leases, sessions, command, clock, signUp: run } = world();
    const { deployment, credentials } = await run();
    expect(marks).toEqual([clock.now()]);
    expect(calls).toEqual(["login for 2 keys", "key", "device"]);
    expect(attested).toEqual(["sign-up for demo with login t"]);
    expect(deployment).toEqual({ status: "deployed" });
    expect(sessions).toMatchObject([
      {
        id: credentials.accessToken,
        accountId: leases[0]!.newAccountId,
        app: { appId: "demo" },
        accountKey: command.accountKey,
        deviceKey: command.deviceKey,
        authTime: clock.now(),
        scope: "full",
      },
    ]);
  });

  it("has one session: a repeated request gets tokens of the one that an earlier request began", async () => {
    const { leases, sessions, signUp: run } = world();
    await run();
    const { sessionId } = leases[0]!;
    expect(sessions.map(({ id }) => id)).toEqual([sessionId]);
    const saga = { ...leases[0]!, accountId: "account", createdAt: new Date(0), done: new Set(SIGN_UP_STEPS) };
    const repeated = world({ leased: { kind: "replay", saga } });
    expect((await repeated.signUp()).credentials.accessToken).toBe(sessionId);
    expect(repeated.asked).toEqual([{ at: saga.createdAt, bySession: undefined }]);
  });

  it.each<[string, NonNullable<Answers["begun"]>]>([
    ["has ended", () => undefined],
    ["was refreshed", (session) => ({ ...session, previousRefreshId: "first" })],
    ["has expired", (session) => ({ ...session, refreshExpiresAt: session.createdAt })],
  ])("is AccountExists where its session %s", async (_, begun) => {
    await expect(world({ begun }).signUp()).rejects.toMatchObject({ reason: "AccountExists" });
  });

  it("opens no session for a caller that is gone: it would end the session of a sign-in since", async () => {
    const { sessions, signUp: run } = world();
    const context = { requestId: "request", signal: AbortSignal.abort() };
    await expect(run({ context })).rejects.toMatchObject({ reason: "Unavailable" });
    expect(sessions).toEqual([]);
  });

  it("leases the saga for longer than the request may last", async () => {
    const { leases, clock, signUp: run } = world();
    await run();
    expect(leases[0]!.leaseUntil).toEqual(new Date(clock.now().getTime() + SAGA_LEASE_MS));
    expect(leases[0]!.session).toBeUndefined();
  });

  it("leases nothing for an unknown chain, a key that the chain does not carry, or an unusable passkey", async () => {
    const { leases, signUp: run } = world();
    await expect(run({ chainName: "elsewhere" })).rejects.toMatchObject({ reason: "UnknownChain" });
    const accountKey = generateKeyPair("EdDSA").publicKey;
    await expect(run({ accountKey })).rejects.toMatchObject({ reason: "UnsupportedKey" });
    await expect(run({ userKeyType: "passkey" })).rejects.toMatchObject({ reason: "UnsupportedKey" });
    expect(leases).toEqual([]);
  });

  it("opens no session for an Idempotency-Key that was used for another body", async () => {
    const { sessions, calls, signUp: run } = world({ leased: { kind: "idempotency-key-reused" } });
    await expect(run()).rejects.toMatchObject({ reason: "IdempotencyKeyReused" });
    expect(sessions).toEqual([]);
    expect(calls).toEqual(["login for 2 keys"]);
  });

  it("takes no step on a further chain where the account is frozen", async () => {
    const { sessions, calls, signUp: run } = world({ leased: { kind: "refused", reason: "AccountFrozen" } });
    await expect(run()).rejects.toMatchObject({ reason: "AccountFrozen" });
    expect([calls, sessions]).toEqual([["login for 2 keys"], []]);
  });

  it("opens no session where the chain refused the account, and leaves the saga to a new request", async () => {
    const { sessions, calls, signUp: run } = world({ status: "failed" });
    await expect(run()).rejects.toMatchObject({ reason: "DeploymentFailed" });
    expect(calls).toEqual(["login for 2 keys", "gave up true"]);
    expect(sessions).toEqual([]);
  });

  it("answers DeploymentFailed also where giving up fails", async () => {
    const { signUp: run } = world({ status: "failed", giveUp: new Error("the database is gone") });
    await expect(run()).rejects.toMatchObject({ reason: "DeploymentFailed" });
  });

  it("leaves the saga to the runner where a service does not answer", async () => {
    const { sessions, calls, signUp: run } = world({ registerKey: new AppError("Unavailable") });
    await expect(run()).rejects.toMatchObject({ reason: "Unavailable" });
    expect(calls).toEqual(["login for 2 keys"]);
    expect(sessions).toEqual([]);
  });
});

it("a further chain is for the account's own session, with both of that session's keys", () => {
  const [accountKey, deviceKey, other] = [1, 2, 3].map(() => generateKeyPair().publicKey) as [
    typeof key,
    typeof key,
    typeof key,
  ];
  const own = { accountId: "account", accountKey: accountKey, deviceKey };
  const command = { accountKey, deviceKey, session: own };
  expect(isOwnFurtherChain(command, "account")).toBe(true);
  expect(isOwnFurtherChain(command, "another")).toBe(false);
  expect(isOwnFurtherChain({ ...command, session: undefined }, "account")).toBe(false);
  expect(isOwnFurtherChain({ ...command, accountKey: other }, "account")).toBe(false);
  expect(isOwnFurtherChain({ ...command, deviceKey: other }, "account")).toBe(false);
});

describe("decideSignUp", () => {
  const command = { accountKey: key, deviceKey: key, session: undefined } as LeaseSignUp;
  const saga = { accountId: "account", accountKey: key, deviceKey: key, done: new Set() } as unknown as SignUpSaga;
  const complete = { ...saga, done: new Set(SIGN_UP_STEPS) };
  const own = { accountId: "account", sameBody: true };
  const further = { accountId: "account", saga, earlier: undefined, isOnOtherChain: true, refusal: undefined };
  const otherKeys = { ...saga, deviceKey: generateKeyPair().publicKey };

  it.each([
    ["a new identity", { accountId: undefined, saga: undefined, earlier: undefined }, "begin"],
    [
      "a further chain without a session",
      { accountId: "account", saga: undefined, earlier: undefined },
      "account-exists",
    ],
    ["an incomplete sign-up", { accountId: "account", saga, earlier: undefined }, "resume"],
    ["an incomplete sign-up with the same Idempotency-Key", { accountId: "account", saga, earlier: own }, "resume"],
    ["an incomplete sign-up of an account that is on another chain", further, "account-exists"],
    ["the same with the same Idempotency-Key", { ...further, earlier: own }, "resume"],
    ["other keys", { accountId: "account", saga: otherKeys, earlier: own }, "account-exists"],
    ["a complete sign-up", { accountId: "account", saga: complete, earlier: undefined }, "account-exists"],
    [
      "a complete sign-up with the same Idempotency-Key",
      { accountId: "account", saga: complete, earlier: own },
      "replay",
    ],
    [
      "the Idempotency-Key of another account",
      { accountId: "account", saga: complete, earlier: { accountId: "another", sameBody: true } },
      "account-exists",
    ],
    [
      "the Idempotency-Key of another body",
      { accountId: "account", saga, earlier: { accountId: "account", sameBody: false } },
      "idempotency-key-reused",
    ],
  ] as const)("%s", (_, facts, kind) => {
    expect(decideSignUp(command, { isOnOtherChain: false, refusal: undefined, ...facts }).kind).toBe(kind);
  });

  it("an incomplete sign-up on a further chain is resumed by the account's own session", () => {
    const decided = (change: object) =>
      decideSignUp(
        { ...command, session: { accountId: "account", accountKey: key, deviceKey: key, ...change } },
        further,
      );
    expect(decided({})).toEqual({ kind: "resume", saga });
    for (const change of [{ accountId: "another" }, { accountKey: generateKeyPair().publicKey }])
      expect(decided(change)).toEqual({ kind: "account-exists", isOnChain: false });
  });

  it("a further chain is begun by the account's own session, unless the account is frozen or its key blocked", () => {
    const session = { accountId: "account", accountKey: key, deviceKey: key };
    const decided = (refusal: SignUpFacts["refusal"]) =>
      decideSignUp({ ...command, session }, { ...further, saga: undefined, refusal });
    expect(decided(undefined)).toEqual({ kind: "begin" });
    for (const reason of ["AccountFrozen", "PleaseRegisterKey"] as const)
      expect(decided(reason)).toEqual({ kind: "refused", reason });
  });
});
