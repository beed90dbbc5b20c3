import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { openPostgres, type Queries, sql } from "@countersign/postgres";
import { beforeEach, describe, expect, it } from "vitest";
import { beginSession, type Session } from "../domain/sessions/session.ts";
import type { TwoFactorSignIn } from "../domain/two-factor/two-factor-sign-in.ts";
import { freezing, phoneOf } from "../testing/freezing.ts";
import { app, clock, database, eventsOf, now, postgres, prisma, times } from "../testing/store-fixture.ts";
import { FIRST_POSITIONS, tokenStateSince } from "../testing/token-state.ts";
import { twoFactorWorld } from "../testing/two-factor-world.ts";
import { waitsForAccount } from "../testing/waits-for-account.ts";
import { createCounter, createPollLimit } from "./limits.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { memberSince } from "./prisma-freeze-store.ts";
import { prismaTwoFactorSignInStore } from "./prisma-two-factor-sign-in-store.ts";

let accountId: string;

beforeEach(() => {
  accountId = uuidv7(clock);
});

const emitted = (event: string) => eventsOf(accountId, event);
const stateOf = async () => {
  const rows = await tokenStateSince(FIRST_POSITIONS);
  return rows.filter(({ frozenAccountId }) => frozenAccountId === accountId).map(({ active }) => active);
};
const signInOf = (change: Partial<TwoFactorSignIn> = {}): TwoFactorSignIn => {
  const accountKey = generateKeyPair().publicKey;
  const text = { name: "Phone", osName: "", osVersion: "", deviceManufacturer: "", deviceModel: "", lang: "" };
  return {
    id: uuidv7(clock),
    accountId,
    chainName: "flow-emulator",
    app,
    userKeyType: "device",
    accountKey,
    deviceKey: accountKey,
    device: { ...text, pushToken: "", type: "mobile", sdkVersion: "" },
    tokenId: uuidv4(),
    authTime: now,
    createdAt: now,
    expiresAt: new Date(now.getTime() + 300_000),
    enrolledAt: undefined,
    finishedAt: undefined,
    ...change,
  };
};
const sessionOf = ({ accountKey, deviceKey }: TwoFactorSignIn): Session =>
  beginSession({ id: uuidv7(clock), refreshId: uuidv4(), accountId, app, deviceKey, accountKey, authTime: now }, now);
const removal = { at: now, requestId: "" };
const transaction = { id: "ab".repeat(32), chainName: "flow-emulator", refUrl: "https://look.example/ab" };

describe("sign-ins of new devices", () => {
  const store = () => prismaTwoFactorSignInStore(prisma);

  it("find devices with one of their keys that signed in or were enrolled, by another request", async () => {
    const pair = () => ({ accountKey: generateKeyPair().publicKey, deviceKey: generateKeyPair().publicKey });
    const devices = times(3, pair);
    const [signedIn, signedOut, enrolled] = devices.map(signInOf) as [
      TwoFactorSignIn,
      TwoFactorSignIn,
      TwoFactorSignIn,
    ];
    await postgresSessionStore(prisma, postgres).begin(sessionOf(signedIn), "");
    const { accountKey: a, deviceKey: d } = signedOut;
    const keys = { accountKeyAlgorithm: a.algorithm, accountKey: a.publicKey };
    const identity = { deviceKeyAlgorithm: d.algorithm, deviceKey: d.publicKey };
    await prisma.formerSession.create({ data: { accountId, ...keys, ...identity, firstFullAt: now } });
    await store().begin(enrolled, undefined);
    await store().markEnrolled(enrolled.id, transaction, now);
    const other = generateKeyPair().publicKey;
    for (const { accountKey, deviceKey } of devices) {
      const known = [{ accountKey, deviceKey }];
      for (const keys of [
        { accountKey, deviceKey: other },
        { accountKey: other, deviceKey },
        { accountKey: deviceKey, deviceKey: accountKey },
      ]) {
        expect(await store().devicesWith(accountId, keys)).toEqual(known);
        expect(await store().devicesWith(uuidv7(clock), keys)).toEqual([]);
      }
    }
    expect(await store().devicesWith(accountId, { accountKey: other, deviceKey: other })).toEqual([]);
    const { accountKey, deviceKey } = enrolled;
    const same = signInOf({ accountKey, deviceKey, chainName: "flow-testnet" });
    await store().begin(same, undefined);
    expect(await store().devicesWith(accountId, enrolled, enrolled.id)).toEqual([]);
    expect(await store().devicesWith(accountId, same, same.id)).toEqual([{ accountKey, deviceKey }]);
  });

  it("find a sign-up's device once it is registered, and no recovery key, whose sessions are of no device", async () => {
    const columnsOf = ({ accountKey: a, deviceKey: d }: TwoFactorSignIn) => ({
      accountId,
      ...{ accountKeyAlgorithm: a.algorithm, accountKey: a.publicKey },
      ...{ deviceKeyAlgorithm: d.algorithm, deviceKey: d.publicKey },
    });
    const [signedUp, recovering] = [signInOf(), signInOf()];
    const { accountKey, deviceKey, chainName, userKeyType } = signedUp;
    const rest = { ...app, chainName, userKeyType, deviceAttributes: {}, deviceId: uuidv7(clock), profileImageUrl: "" };
    await prisma.signUp.create({ data: { ...columnsOf(signedUp), ...rest, leaseUntil: now, createdAt: now } });
    expect(await store().devicesWith(accountId, signedUp)).toEqual([]);
    await prisma.signUp.updateMany({ where: { accountId }, data: { deviceRegisteredAt: now } });
    expect(await store().devicesWith(accountId, signedUp)).toEqual([{ accountKey, deviceKey }]);
    expect(await store().devicesWith(uuidv7(clock), signedUp)).toEqual([]);
    await postgresSessionStore(prisma, postgres).begin({ ...sessionOf(recovering), scope: "recover" }, "");
    await prisma.formerSession.create({ data: columnsOf(recovering) });
    expect(await store().devicesWith(accountId, recovering)).toEqual([]);
  });

  it("are not read by sign-ins, requests and freezes where nobody approved them, as many as there are", async () => {
    const signIn = signInOf();
    await store().begin(signIn, undefined);
    await store().markEnrolled(signIn.id, transaction, now);
    // Somebody with the login has sent these before; they name the keys of the device that was added.
    await postgres.execute(sql`
      INSERT INTO two_factor_sign_in SELECT (json_populate_record(t, json_build_object(
        'id', gen_random_uuid(), 'transaction_id', NULL, 'enrolled_at', NULL))).*
      FROM two_factor_sign_in AS t, generate_series(1, 20000) WHERE t.id = ${signIn.id}::uuid`);
    const { accountKey, deviceKey, chainName } = signIn;
    const readBy = (work: (tx: typeof prisma) => Promise<unknown>) =>
      prisma.$transaction(async (tx) => {
        await work(tx as typeof prisma);
        const [row] = await tx.$queryRaw<[{ read: number }]>`
          SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables
          WHERE relname = 'two_factor_sign_in'`;
        return row.read;
      });
    const reads = [
      await readBy((tx) => prismaTwoFactorSignInStore(tx).additionOf(accountId, chainName, accountKey)),
      await readBy((tx) => prismaTwoFactorSignInStore(tx).devicesWith(accountId, signIn)),
      await readBy((tx) => memberSince(tx, accountId, deviceKey)),
    ];
    expect(Math.max(...reads)).toBeLessThan(10);
  });

  it("are kept whole, and found by their account only", async () => {
    for (const signIn of [signInOf(), signInOf({ authTime: undefined })]) {
      expect(await store().begin(signIn, undefined)).toEqual({ kind: "begun", signIn });
      expect(await store().find(accountId, signIn.id)).toEqual(signIn);
      expect(await store().find(uuidv7(clock), signIn.id)).toBeUndefined();
    }
  });

  it("begin once for one Idempotency-Key, however many come at once; another body is refused", async () => {
    const idempotency = { id: uuidv4(), fingerprint: "f1" };
    const begun = await Promise.all(times(8, () => store().begin(signInOf(), idempotency)));
    expect(begun.filter(({ kind }) => kind === "begun")).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === "replay")).toHaveLength(7);
    expect(new Set(begun.map((each) => ("signIn" in each ? each.signIn.id : ""))).size).toBe(1);
    expect(await prisma.twoFactorSignIn.count({ where: { accountId } })).toBe(1);
    expect(await store().replayOf(idempotency)).toMatchObject({ kind: "replay" });
    const other = { ...idempotency, fingerprint: "f2" };
    expect(await store().replayOf(other)).toEqual({ kind: "idempotency-key-reused" });
    expect(await store().begin(signInOf(), other)).toEqual({ kind: "idempotency-key-reused" });
    expect(await store().replayOf({ id: uuidv4(), fingerprint: "f1" })).toBeUndefined();
  });

  it("neither begin nor enroll once the account has left, as by an erasure that commits meanwhile", async () => {
    expect(await waitsForAccount(accountId, () => store().begin(signInOf(), undefined))).toBe(true);
    await prismaAccessStore(prisma).leave({ accountId, leftAt: now, requestId: "" });
    const idempotency = { id: uuidv4(), fingerprint: "f1" };
    await expect(store().begin(signInOf(), idempotency)).rejects.toMatchObject({ reason: "AccountLeft" });
    expect(await prisma.twoFactorSignIn.count({ where: { accountId } })).toBe(1);
    expect(await store().replayOf(idempotency)).toBeUndefined();
    expect(await store().mayEnroll(accountId, [generateKeyPair().publicKey])).toBe("blocked");
  });

  it("of two bodies at once under one Idempotency-Key one begins", async () => {
    const id = uuidv4();
    const begun = await Promise.all(times(6, (i) => store().begin(signInOf(), { id, fingerprint: `f${i}` })));
    expect(begun.filter(({ kind }) => kind === "begun")).toHaveLength(1);
    expect(begun.filter(({ kind }) => kind === "idempotency-key-reused")).toHaveLength(5);
  });

  it("get one session, with one event, when they are finished concurrently", async () => {
    const signIn = signInOf();
    await store().begin(signIn, undefined);
    const finish = () => store().finish(signIn.id, sessionOf(signIn), now, "r");
    const elsewhere = { ...sessionOf(signIn), accountId: uuidv7(clock) };
    expect(await store().finish(signIn.id, elsewhere, now, "r")).toBe(false);
    const finished = await Promise.all(times(8, finish));
    expect(finished.filter(Boolean)).toHaveLength(1);
    expect(await prisma.session.count({ where: { accountId } })).toBe(1);
    expect(await emitted("session-created")).toBe(1);
    expect((await store().find(accountId, signIn.id))?.finishedAt).toEqual(now);
  });

  it("lose their ephemeral token when they are finished, or when their request is over", async () => {
    const [finished, over, open] = [signInOf(), signInOf(), signInOf()];
    for (const each of [finished, over, open]) await store().begin(each, undefined);
    await store().finish(finished.id, sessionOf(finished), now, "r");
    await store().endToken(uuidv7(clock), open.id);
    for (let again = 0; again < 2; again++) await store().endToken(accountId, over.id);
    const ids = [finished, over, open].map(({ id }) => id);
    const entries = await tokenStateSince(FIRST_POSITIONS);
    const ended = entries.filter(({ endedSessionId }) => ids.includes(endedSessionId ?? ""));
    expect(ended.map(({ endedSessionId }) => endedSessionId).sort()).toEqual([finished.id, over.id].sort());
    // Until the token itself is over everywhere.
    for (const { active, until } of ended) {
      expect({ active, until }).toEqual({ active: true, until: new Date(now.getTime() + 360_000) });
    }
  });

  it("keep the transaction that added their key, the first one only", async () => {
    const signIn = signInOf();
    const { chainName, accountKey } = signIn;
    await store().begin(signIn, undefined);
    expect(await store().additionOf(accountId, chainName, accountKey)).toBeUndefined();
    await store().markEnrolled(signIn.id, transaction, now);
    await store().markEnrolled(signIn.id, { ...transaction, id: "cd".repeat(32) }, now);
    expect(await store().additionOf(accountId, chainName, accountKey)).toEqual(transaction);
    expect(await store().additionOf(uuidv7(clock), chainName, accountKey)).toBeUndefined();
    expect(await store().additionOf(accountId, "elsewhere", accountKey)).toBeUndefined();
    expect(await store().additionOf(accountId, chainName, generateKeyPair().publicKey)).toBeUndefined();
  });

  it("lose their keys with their device, also where they never had a session", async () => {
    const identity = generateKeyPair("EdDSA").publicKey;
    const signIn = signInOf({ deviceKey: identity });
    await store().begin(signIn, undefined);
    await store().recordAddition(signIn, transaction, removal);
    expect(await store().mayEnroll(accountId, [signIn.accountKey])).toBe("yes");
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey: identity, removedAt: now, requestId: "" });
    expect(await store().mayEnroll(accountId, [signIn.accountKey])).toBe("blocked");
    expect(await store().mayEnroll(uuidv7(clock), [signIn.accountKey])).toBe("yes");
    expect(await store().mayEnroll(accountId, [generateKeyPair().publicKey])).toBe("yes");
    const finished = store().finish(signIn.id, sessionOf(signIn), now, "");
    await expect(finished).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
    expect((await store().find(accountId, signIn.id))?.finishedAt).toBeUndefined();
    const challenged = postgresSessionStore(prisma, postgres).begin(sessionOf(signIn), "");
    await expect(challenged).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
  });

  it("lose with their device no keys that were never on chain: each request names one, and nothing would bound them", async () => {
    const identity = generateKeyPair("EdDSA").publicKey;
    const requests = [1, 2, 3].map(() => signInOf({ deviceKey: identity }));
    for (const request of requests) await store().begin(request, undefined);
    const [approved, late, ...never] = requests as [TwoFactorSignIn, TwoFactorSignIn, TwoFactorSignIn];
    // Neither removed from another account nor blocked for a while is removed.
    const elsewhere = { accountId: uuidv7(clock), deviceKey: identity, removedAt: now, requestId: "" };
    await prismaAccessStore(prisma).cutOff(elsewhere);
    const until = new Date(now.getTime() + 60_000);
    await prisma.blockedKey.create({ data: { accountId, ...identity, until } });
    await store().recordAddition(approved, transaction, removal);
    expect(await store().mayEnroll(accountId, [approved.accountKey])).toBe("yes");
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey: identity, removedAt: now, requestId: "" });
    const verdicts = () => Promise.all(requests.map(({ accountKey }) => store().mayEnroll(accountId, [accountKey])));
    expect(await verdicts()).toEqual(["blocked", "yes", "yes"]);
    // A key that comes to the chain after the removal is blocked then.
    await store().recordAddition(late, transaction, removal);
    expect(await verdicts()).toEqual(["blocked", "blocked", "yes"]);
    expect(await store().mayEnroll(accountId, [never[0]!.deviceKey])).toBe("blocked");
  });

  it("are recorded and finished under the account's lock, which a removal or a freeze has meanwhile", async () => {
    const signIn = signInOf();
    await store().begin(signIn, undefined);
    for (const work of [
      () => store().recordAddition(signIn, transaction, removal),
      () => store().finish(signIn.id, sessionOf(signIn), now, "r"),
    ])
      expect(await waitsForAccount(accountId, work)).toBe(true);
  });

  it("finish after an erasure that has the account's lock and deletes their rows", async () => {
    const signIn = signInOf();
    await store().begin(signIn, undefined);
    const finish = async () => expect(await store().finish(signIn.id, sessionOf(signIn), now, "r")).toBe(false);
    const erase = (tx: Queries) =>
      tx.execute(sql`DELETE FROM two_factor_sign_in WHERE account_id = ${accountId}::uuid`);
    expect(await waitsForAccount(accountId, finish, erase)).toBe(true);
  });

  it("are enrolled once through all of the domain, in any order of the event and the finishing", async () => {
    const world = twoFactorWorld({ store: store() });
    accountId = world.account("ann");
    const { opened } = await world.ask();
    world.seal(opened.id);
    const token = await world.tokenOf(accountId, opened.id);
    const finishing = times(4, () => world.finish(token, opened.id));
    const approving = times(2, () => world.approved(accountId, opened.id));
    const [finished] = await Promise.all([Promise.allSettled(finishing), Promise.all(approving)]);
    expect(finished.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await prisma.session.count({ where: { accountId } })).toBe(1);
  });
});

it("an account recovers while its recovery key has a live session", async () => {
  const store = prismaTwoFactorSignInStore(prisma);
  await phoneOf(accountId);
  expect(await store.isRecovering(accountId, now)).toBe(false);
  const recovery = await phoneOf(accountId, { scope: "recover" });
  expect(await store.isRecovering(accountId, now)).toBe(true);
  expect(await store.isRecovering(accountId, recovery.expiresAt)).toBe(false);
  for (const over of [{ expiresAt: now }, { refreshExpiresAt: now }]) {
    const other = uuidv7(clock);
    await phoneOf(other, { scope: "recover", ...over });
    expect(await store.isRecovering(other, now)).toBe(false);
  }
  await postgresSessionStore(prisma, postgres).end(accountId, { id: recovery.id }, "signed-out", now, "");
  expect(await store.isRecovering(accountId, now)).toBe(false);
});

it("a freeze keeps new devices out until it is lifted, and known ones not", async () => {
  const [first, second] = [await phoneOf(accountId), await phoneOf(accountId)];
  const store = prismaTwoFactorSignInStore(prisma);
  const signIn = signInOf();
  await store.begin(signIn, undefined);
  await freezing.freeze(first);
  expect(await stateOf()).toEqual([true]);
  expect(await store.mayEnroll(accountId, [signIn.accountKey])).toBe("frozen");
  const finished = store.finish(signIn.id, sessionOf(signIn), now, "");
  await expect(finished).rejects.toMatchObject({ reason: "AccountFrozen" });
  await postgresSessionStore(prisma, postgres).begin(sessionOf(signInOf()), "");
  expect(await prisma.session.count({ where: { accountId } })).toBe(3);
  await expect(freezing.unfreeze(first)).rejects.toMatchObject({ reason: "TimeLockRequired" });
  await freezing.unfreeze(second);
  expect(await stateOf()).toEqual([false]);
  expect(await store.finish(signIn.id, sessionOf(signIn), now, "")).toBe(true);
});

it("polling is let through once a second for each request", async () => {
  const postgres = openPostgres(database.url, { connections: 2 });
  try {
    const poll = createPollLimit(createCounter(postgres));
    const id = uuidv7(clock);
    const polled = await Promise.allSettled(times(5, () => poll(id)));
    expect(polled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await expect(poll(id)).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: 1 });
    await poll(uuidv7(clock));
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    await poll(id);
  } finally {
    await postgres.close();
  }
});
