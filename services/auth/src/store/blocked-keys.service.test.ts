import { BLOCK_SENT_MS, uuidv4 } from "@countersign/core";
import { sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import type { Session } from "../domain/sessions/session.ts";
import { app, eventsOf, now, postgres, prisma, someSession } from "../testing/store-fixture.ts";
import { tokenStateSince } from "../testing/token-state.ts";
import { waitsForAccount } from "../testing/waits-for-account.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { postgresBlockedKeyStore } from "./postgres-blocked-key-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";

const access = () => prismaAccessStore(prisma);
const store = () => postgresBlockedKeyStore(postgres);
const sessions = () => postgresSessionStore(prisma, postgres);
const begin = (session: Session) => sessions().begin(session, "");
const live = async (accountId: string) => (await sessions().list(accountId, now)).map(({ id }) => id);
const sent = async (accountId: string) =>
  (await tokenStateSince()).filter(({ blockedKey }) => blockedKey?.accountId === accountId);
const remove = ({ accountId, deviceKey }: Session, removedAt = now) =>
  access().cutOff({ accountId, deviceKey, removedAt, requestId: "" });
const revoke = ({ accountId, accountKey }: Session, revokedAt = now) =>
  access().endRevoked({ accountId, accountKey, revokedAt, requestId: "" });
const keysOf = ({ accountId, deviceKey, accountKey }: Session) => ({ accountId, deviceKey, accountKey });
const inHours = (hours: number, from = Date.now()) => new Date(from + hours * 3_600_000);

describe("the keys of a removed device", () => {
  it("are sent to all services for two hours, and blocked for good", async () => {
    const session = someSession();
    const { accountId, deviceKey } = session;
    await begin(session);
    const before = Date.now();
    // The event came late: services are sent the block for as long as any other.
    await remove(session, inHours(-5));
    const [entry] = await sent(accountId);
    expect(Math.abs(entry!.until!.getTime() - before - BLOCK_SENT_MS)).toBeLessThan(10_000);
    await deleteExpiredRows(postgres)(inHours(4));
    expect(await sent(accountId)).toEqual([]);
    expect(await store().blockedKeys(accountId, inHours(100_000))).toEqual([deviceKey]);
    expect(await store().hasLeft(accountId)).toBe(false);
    const late = someSession({ accountId, deviceKey, createdAt: inHours(100_000) });
    await expect(begin(late)).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
  });

  it("leave no live session behind that uses one: services forget the block", async () => {
    const session = someSession();
    const { accountId, deviceKey, accountKey } = session;
    await begin(session);
    const other = someSession({ accountId, accountKey });
    const later = someSession({
      accountId,
      deviceKey,
      createdAt: inHours(1, now.getTime()),
      app: { appId: "later", appName: "" },
    });
    const kept = someSession({ accountId });
    for (const each of [other, later, kept]) await begin(each);
    await remove(session);
    expect(await live(accountId)).toEqual([kept.id]);
    expect(await eventsOf(accountId, "session-ended")).toBe(3);
  });

  it("are those of its sessions, and of a sign-up that has opened none", async () => {
    const { accountId, deviceKey: d } = someSession();
    const { accountKey: a } = someSession();
    const keys = { accountKeyAlgorithm: a.algorithm, accountKey: a.publicKey, deviceKeyAlgorithm: d.algorithm };
    const device = { deviceKey: d.publicKey, deviceId: uuidv4(), deviceAttributes: {}, profileImageUrl: "" };
    const rest = { chainName: "c", ...app, userKeyType: "device", leaseUntil: now, createdAt: now };
    await prisma.signUp.create({ data: { accountId, ...keys, ...device, ...rest } });
    const session = someSession({ accountId, deviceKey: d, accountKey: someSession().accountKey });
    await begin(session);
    await remove(session);
    expect(new Set(await store().blockedKeys(accountId, now))).toEqual(new Set([a, d, session.accountKey]));
  });

  it("are those of one that has signed in thousands of times", async () => {
    const session = someSession({ accountKey: someSession().accountKey });
    const { accountId, deviceKey, accountKey } = session;
    await begin(session);
    await postgres.execute(sql`
      INSERT INTO session SELECT (json_populate_record(s, json_build_object('id', gen_random_uuid(), 'ended_at', now()))).*
      FROM session AS s, generate_series(1, 20000) WHERE s.account_id = ${accountId}::uuid`);
    await remove(session);
    expect(new Set(await store().blockedKeys(accountId, now))).toEqual(new Set([deviceKey, accountKey]));
    expect(await live(accountId)).toEqual([]);
  });

  it("are those of one account only", async () => {
    const session = someSession();
    const same = someSession({ deviceKey: session.deviceKey, accountKey: session.accountKey });
    const another = someSession({ deviceKey: session.deviceKey, accountKey: someSession().accountKey });
    for (const each of [session, same, another]) await begin(each);
    await remove(session);
    expect(await store().blockedKeys(session.accountId, now)).toEqual([session.deviceKey]);
    expect(await store().blockedKeys(same.accountId, now)).toEqual([]);
    expect(await live(same.accountId)).toEqual([same.id]);
    const next = someSession(keysOf(same));
    await begin(next);
    expect(await live(same.accountId)).toEqual([next.id]);
  });
});

it("a key that was revoked on chain is blocked for 16 minutes, unless it is blocked for good", async () => {
  const revoked = someSession();
  const both = someSession();
  const reverse = someSession();
  for (const each of [revoked, both, reverse]) await begin(each);
  // By the database's clock, a little later than this.
  const before = new Date();
  await remove(both);
  for (const each of [revoked, both, reverse]) await revoke(each);
  await remove(reverse);
  const blocked = async ({ accountId }: Session, minutes: number) =>
    (await store().blockedKeys(accountId, inHours(minutes / 60, before.getTime()))).length;
  for (const each of [revoked, both, reverse]) expect(await blocked(each, 15.9)).toBe(1);
  // Services are sent a block for good no shorter because of the other one.
  const sentUntil = (await Promise.all([both, reverse].map(({ accountId }) => sent(accountId)))).flat();
  for (const { until } of sentUntil) expect(until!.getTime() - before.getTime()).toBeGreaterThanOrEqual(BLOCK_SENT_MS);
  expect(await Promise.all([revoked, both, reverse].map((each) => blocked(each, 16.5)))).toEqual([0, 1, 1]);
  const after = (minutes: number) =>
    someSession({ ...keysOf(revoked), createdAt: inHours(minutes / 60, before.getTime()) });
  await expect(begin(after(15.9))).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
  await begin(after(16.5));
  await deleteExpiredRows(postgres)(inHours(1.5, before.getTime()));
  const left = [revoked, both, reverse].map(({ accountId }) => prisma.blockedKey.count({ where: { accountId } }));
  expect(await Promise.all(left)).toEqual([0, 1, 1]);
});

it("a key that was revoked keeps no session of a sign-in that had read it before, only those of a key added again", async () => {
  const { accountId, accountKey } = someSession();
  const begunAfter = (seconds: number) =>
    someSession({ accountId, accountKey, createdAt: new Date(now.getTime() + seconds * 1000) });
  const [atOnce, slow, addedAgain] = [begunAfter(1), begunAfter(60), begunAfter(61)];
  const [otherKey, elsewhere] = [someSession({ accountId }), someSession({ accountKey })];
  for (const each of [atOnce, slow, addedAgain, otherKey, elsewhere]) await begin(each);
  await revoke(atOnce);
  expect(await live(accountId)).toEqual([addedAgain.id, otherKey.id]);
  expect(await live(elsewhere.accountId)).toEqual([elsewhere.id]);
  const { createdAt, endedAt } = await prisma.session.findUniqueOrThrow({ where: { id: slow.id } });
  expect(endedAt).toEqual(createdAt);
});

it("a key that is revoked once more is blocked again", async () => {
  const session = someSession();
  const { accountId, accountKey } = session;
  const blocked = () => store().blockedKeys(accountId, new Date());
  await revoke(session);
  await prisma.blockedKey.updateMany({ where: { accountId }, data: { until: inHours(-0.1) } });
  expect(await blocked()).toEqual([]);
  await revoke(session);
  expect(await blocked()).toEqual([accountKey]);
});

it("keys are blocked under the account's lock: a session that begins meanwhile would outlive the block", async () => {
  const session = someSession();
  for (const work of [() => revoke(session), () => remove(session)])
    expect(await waitsForAccount(session.accountId, work)).toBe(true);
});

it.each([10, 30])("a key-revoked %i minutes late outlives the tokens issued until then", async (minutes) => {
  const session = someSession({ createdAt: inHours(-2) });
  const { accountId, id } = session;
  await begin(session);
  const lastToken = inHours(0.25);
  await revoke(session, inHours(-minutes / 60));
  const entries = (await tokenStateSince()).filter(
    ({ endedSessionId, blockedKey }) => endedSessionId === id || blockedKey?.accountId === accountId,
  );
  const row = await prisma.blockedKey.findFirst({ where: { accountId } });
  const ends = [...entries, row].map((each) => each!.until!.getTime() - lastToken.getTime());
  expect(ends).toHaveLength(3);
  expect(Math.min(...ends)).toBeGreaterThanOrEqual(0);
});
