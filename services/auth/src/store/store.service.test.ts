import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { generateKeyPair } from "@countersign/keys/node";
import { createPrismaAdapter, FixedClock, uuidv4, uuidv7 } from "@countersign/service-kit";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoginProfile } from "../domain/login.ts";
import type { SignUpWish } from "../domain/ports.ts";
import { refreshToken } from "../domain/refresh-token.ts";
import { respondChallenge } from "../domain/respond-challenge.ts";
import { beginSession, type Session } from "../domain/session.ts";
import { SIGN_UP_STEPS } from "../domain/sign-up-steps.ts";
import { createTokenKeys } from "../tokens/token-keys.ts";
import { PrismaClient } from "./generated/client.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaChallengeStore } from "./prisma-challenge-store.ts";
import { prismaExchangedCodeStore } from "./prisma-exchanged-code-store.ts";
import { prismaSessionStore } from "./prisma-session-store.ts";
import { prismaSignUpStore } from "./prisma-sign-up-store.ts";
import { prismaTokenKeyStore } from "./prisma-token-key-store.ts";
import { prismaTokenStateStore } from "./prisma-token-state-store.ts";

const clock = new FixedClock("2026-11-20T10:00:00Z");
const now = clock.now();
const app = { appId: "demo", appName: "Demo" };
let database: TestDatabase;
let prisma: PrismaClient;

beforeAll(async () => {
  database = await createTestDatabase("auth");
  prisma = new PrismaClient({ adapter: createPrismaAdapter(database.url, 10) });
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const eventsOf = (accountId: string, event: string) =>
  prisma.outbox.count({ where: { subject: `cs.v1.auth.${accountId}.${event}` } });

const person = (): LoginProfile => ({
  issuer: "https://idp.example",
  subject: uuidv4(),
  email: "",
  name: "",
  picture: "",
  app,
  authTime: now,
});
const device = {
  pushToken: "",
  name: "",
  osName: "",
  osVersion: "",
  deviceManufacturer: "",
  deviceModel: "",
  lang: "",
  type: "mobile",
  sdkVersion: "",
};
const wishOf = (profile: LoginProfile, change: Partial<SignUpWish> = {}): SignUpWish => {
  const userKey = change.userKey ?? generateKeyPair().publicKey;
  return {
    profile,
    chainName: "flow-emulator",
    app,
    userKeyType: "device",
    userKey,
    deviceKey: userKey,
    device,
    deviceId: uuidv7(clock),
    profileImageUrl: "",
    newAccountId: uuidv7(clock),
    session: undefined,
    idempotency: undefined,
    leaseUntil: new Date(now.getTime() + 30_000),
    now,
    ...change,
  };
};

describe("sign-up claims", () => {
  const store = () => prismaSignUpStore(prisma);

  it("ten at once of one identity and key are one account", async () => {
    const wish = wishOf(person());
    const claims = await Promise.all(times(10, () => store().claim({ ...wish, newAccountId: uuidv7(clock) })));
    const sagas = claims.map((claim) => claim.kind === "drive" && claim.saga);
    expect(new Set(sagas.map((saga) => (saga ? saga.accountId : undefined))).size).toBe(1);
    expect(sagas.every((saga) => saga && saga.deviceId === wish.deviceId)).toBe(true);
  });

  it("of two keys at once one wins", async () => {
    const profile = person();
    const claims = await Promise.all(times(6, () => store().claim(wishOf(profile))));
    expect(claims.filter(({ kind }) => kind === "drive")).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === "account-exists")).toHaveLength(5);
  });

  it("an Idempotency-Key replays a finished sign-up, and only for the same body", async () => {
    const wish = wishOf(person(), { idempotency: { id: uuidv4(), fingerprint: "f1" } });
    const first = await store().claim(wish);
    if (first.kind !== "drive") throw new Error(first.kind);
    for (const step of SIGN_UP_STEPS)
      await Promise.all([store().mark(first.saga, step, now), store().mark(first.saga, step, now)]);
    expect(await eventsOf(first.saga.accountId, "sign-up-completed")).toBe(1);
    expect((await store().claim(wish)).kind).toBe("replay");
    const otherBody = { ...wish, idempotency: { ...wish.idempotency!, fingerprint: "f2" } };
    expect((await store().claim(otherBody)).kind).toBe("idempotency-key-reused");
    expect((await store().claim({ ...wish, idempotency: undefined })).kind).toBe("account-exists");
    expect((await store().claim({ ...wish, idempotency: { id: uuidv4(), fingerprint: "f1" } })).kind).toBe(
      "account-exists",
    );
  });

  it("a further chain only from the account's own session, with that session's key", async () => {
    const profile = person();
    const wish = wishOf(profile);
    const first = await store().claim(wish);
    if (first.kind !== "drive") throw new Error(first.kind);
    const { accountId } = first.saga;
    const further = { chainName: "flow-other", userKey: wish.userKey };
    const session = { accountId, accountKey: wish.userKey, deviceKey: wish.userKey };
    expect((await store().claim(wishOf(profile, further))).kind).toBe("account-exists");
    const strange = { ...session, accountId: uuidv7(clock) };
    expect((await store().claim(wishOf(profile, { ...further, session: strange }))).kind).toBe("account-exists");
    expect((await store().claim(wishOf(profile, { chainName: "flow-other", session }))).kind).toBe("account-exists");
    const strangeDevice = { ...further, deviceKey: generateKeyPair().publicKey, session };
    expect((await store().claim(wishOf(profile, strangeDevice))).kind).toBe("account-exists");
    expect(await store().claim(wishOf(profile, { ...further, session }))).toMatchObject({
      kind: "drive",
      saga: { accountId },
    });
  });

  it("two runners never lease the same saga, and a given-up one is left alone", async () => {
    await prisma.signUp.updateMany({ data: { leaseUntil: new Date(now.getTime() + 1_000_000) } });
    const claims = await Promise.all(
      times(8, () => store().claim(wishOf(person(), { leaseUntil: new Date(now.getTime() - 1) }))),
    );
    const [first] = claims;
    if (first?.kind === "drive") await store().giveUp(first.saga);
    const until = new Date(now.getTime() + 30_000);
    const leased = (await Promise.all(times(4, () => store().leaseAbandoned(now, until, 3)))).flat();
    expect(leased).toHaveLength(7);
    expect(new Set(leased.map(({ accountId }) => accountId)).size).toBe(7);
  });
});

const someSession = (change: Partial<Session> = {}): Session => {
  const { publicKey } = generateKeyPair();
  const ids = { id: uuidv7(clock), refreshId: uuidv4(), accountId: uuidv7(clock) };
  return {
    ...beginSession({ ...ids, app, deviceKey: publicKey, accountKey: publicKey, authTime: now }, now),
    ...change,
  };
};

describe("challenges", () => {
  it("ten right answers at once open one session; five wrong ones end it", async () => {
    const challenges = prismaChallengeStore(prisma);
    const pair = generateKeyPair();
    const { signMessage } = await import("@countersign/keys/node");
    const respond = respondChallenge({
      challenges,
      findSignInKey: async () => ({
        type: "device" as const,
        accountKey: pair.publicKey,
        deviceKey: pair.publicKey,
        isRecovery: false,
      }),
      listPasskeys: async () => [],
      passkeys: { relyingPartiesOf: () => [] },
      clock,
      isKeyBlocked: () => false,
      issue: async () => ({ accessToken: "", refreshToken: "" }),
    });
    const newChallenge = async () => {
      const data = uuidv4().replaceAll("-", "");
      const accountId = uuidv7(clock);
      const expiresAt = new Date(now.getTime() + 1000);
      await challenges.insert({
        data,
        type: "device-key",
        accountId,
        chainName: "c",
        app,
        signer: pair.publicKey,
        authTime: now,
        expiresAt,
      });
      const answer = (message = data) =>
        respond({
          data,
          answer: { type: "device-key", signature: signMessage(pair.privateKey, Buffer.from(message, "hex")) },
          requestId: "",
        });
      return { accountId, answer };
    };
    const good = await newChallenge();
    const answers = await Promise.allSettled(times(10, () => good.answer()));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await prisma.session.count({ where: { accountId: good.accountId } })).toBe(1);

    const guessed = await newChallenge();
    const guesses = await Promise.allSettled(times(8, () => guessed.answer("00")));
    const reasons = guesses.map((guess) => guess.status === "rejected" && guess.reason.reason);
    expect(reasons.filter((reason) => reason === "InvalidSignature")).toHaveLength(5);
    await expect(guessed.answer()).rejects.toMatchObject({ reason: "UnknownChallenge" });
  });
});

describe("sessions", () => {
  const sessions = () => prismaSessionStore(prisma);
  const refreshing = () =>
    refreshToken({
      sessions: sessions(),
      clock,
      read: async (token) => JSON.parse(token),
      issue: async ({ refreshId }) => ({ accessToken: "", refreshToken: refreshId }),
    });
  const tokenOf = ({ id }: Session, refreshId: string) => JSON.stringify({ sessionId: id, refreshId });

  it("the same refresh token at once has one successor", async () => {
    const session = someSession();
    await sessions().begin(session, "");
    const answers = await Promise.all(
      times(6, () => refreshing()(tokenOf(session, session.refreshId), new Uint8Array(), "")),
    );
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1);
  });

  it("reuse ends the session, once, for everybody", async () => {
    const session = someSession();
    await sessions().begin(session, "");
    const refresh = (id: string) => refreshing()(tokenOf(session, id), new Uint8Array(), "");
    const second = await refresh(session.refreshId);
    const third = await refresh(second.refreshToken);
    const reused = await Promise.allSettled(times(4, () => refresh(session.refreshId)));
    expect(reused.every(({ status }) => status === "rejected")).toBe(true);
    await expect(refresh(third.refreshToken)).rejects.toMatchObject({ reason: "InvalidRefreshToken" });
    expect(await eventsOf(session.accountId, "session-ended")).toBe(1);
    expect(await prisma.tokenStateEntry.count({ where: { kind: "session", subject: session.id, active: true } })).toBe(
      1,
    );
  });

  it("one account cannot end another's", async () => {
    const session = someSession();
    await sessions().begin(session, "");
    expect(await sessions().end(uuidv7(clock), { id: session.id }, "ended-by-user", now, "")).toBe(0);
    expect(await sessions().end(session.accountId, { id: session.id }, "ended-by-user", now, "")).toBe(1);
    expect(await sessions().end(session.accountId, { id: session.id }, "ended-by-user", now, "")).toBe(0);
  });

  it("a removed device loses its sessions and its keys; a second time changes nothing", async () => {
    const session = someSession();
    const kept = someSession({ accountId: session.accountId });
    await sessions().begin(session, "");
    await sessions().begin(kept, "");
    const { accountId, deviceKey } = session;
    const access = prismaAccessStore(prisma);
    await access.cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
    await access.cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
    expect((await sessions().list(accountId, now)).map(({ id }) => id)).toEqual([kept.id]);
    expect(await eventsOf(accountId, "session-ended")).toBe(1);
    const late = someSession({ accountId, deviceKey, accountKey: deviceKey });
    await expect(sessions().begin(late, "")).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
    const entries = await prismaTokenStateStore(prisma).changedSince(undefined);
    expect(entries.filter((entry) => entry.blockedKey?.accountId === accountId)).toHaveLength(1);
  });
});

describe("exchanged codes", () => {
  it("of somebody who signs in by name are bound to the first key that is named", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const profile = person();
    const once = (keys: string[]) => codes.once("by-name", { binding: "b", keys }, async () => profile);
    expect(await once([])).toEqual(profile);
    expect(await once([])).toEqual(profile);
    expect(await once(["k"])).toEqual(profile);
    expect(await once([])).toEqual(profile);
    expect(await once(["k"])).toEqual(profile);
    expect(await once(["other"])).toBeUndefined();
  });

  it("at once are exchanged once; another binding deletes what was remembered", async () => {
    const codes = prismaExchangedCodeStore(prisma, clock);
    const profile = person();
    let exchanges = 0;
    const use = (binding: string, keys: string[]) =>
      codes.once("code", { binding, keys }, async () => {
        exchanges += 1;
        return profile;
      });
    const answers = await Promise.all(times(4, () => use("b", ["k"])));
    expect(answers).toEqual(times(4, () => profile));
    expect(exchanges).toBe(1);
    expect(await use("b", ["other"])).toBeUndefined();
    expect(await prisma.exchangedCode.count({ where: { codeHash: "code" } })).toBe(0);
  });
});

describe("the token state", () => {
  it("misses nothing of a transaction that began early and committed late", async () => {
    const store = prismaTokenStateStore(prisma);
    const late = new pg.Client({ connectionString: database.url });
    await late.connect();
    try {
      await late.query("BEGIN");
      const insert = `INSERT INTO token_state_entry (kind, subject, active, until, txid)
        VALUES ('session', $1, true, NULL, pg_current_xact_id()::text::bigint)`;
      const lateId = uuidv4();
      await late.query(insert, [lateId]);
      const session = someSession();
      await prismaSessionStore(prisma).begin(session, "");
      await prismaSessionStore(prisma).end(session.accountId, { id: session.id }, "signed-out", now, "");
      // A reader that comes now sees the later transaction and not the earlier one.
      const cursor = await store.horizon();
      const seen = (await store.changedSince(undefined)).map((entry) => entry.endedSessionId);
      expect(seen).toContain(session.id);
      expect(seen).not.toContain(lateId);
      await late.query("COMMIT");
      const after = (await store.changedSince(cursor)).map((entry) => entry.endedSessionId);
      expect(after).toContain(lateId);
    } finally {
      await late.end();
    }
  });

  it("two replicas that start at once make one token key, and the next in time", async () => {
    const time = new FixedClock(now);
    const options = {
      store: prismaTokenKeyStore(prisma),
      encryptionKey: Buffer.alloc(32, 7),
      clock: time,
      periodMs: 30 * 86_400_000,
    };
    const replicas = times(3, () => createTokenKeys(options));
    await Promise.all(replicas.map((keys) => keys.rotate()));
    expect(await prisma.tokenKey.count()).toBe(1);
    const [keys] = replicas;
    const first = (await keys!.signingKey()).kid;
    time.advance(29.5 * 86_400_000);
    await Promise.all(replicas.map((each) => each.rotate()));
    expect((await keys!.published()).map(({ kid }) => kid)).toHaveLength(2);
    expect((await keys!.signingKey()).kid).toBe(first);
    time.advance(86_400_000);
    expect((await keys!.signingKey()).kid).not.toBe(first);
    for (const jwk of await keys!.published()) expect(jwk).not.toHaveProperty("d");
    const wrong = createTokenKeys({ ...options, encryptionKey: Buffer.alloc(32, 8) });
    await expect(wrong.signingKey()).rejects.toThrow();
  });
});
