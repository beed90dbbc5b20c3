import { FixedClock } from "@countersign/core/testing";
import { expect, it } from "vitest";
import { refreshToken } from "../domain/sessions/refresh-token.ts";
import type { Session } from "../domain/sessions/session.ts";
import { holdAccount } from "../testing/hold-account.ts";
import { clock, eventsOf, now, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";

const sessions = () => postgresSessionStore(prisma, postgres);
/** Returns the refresh of a replica of its own. */
const refreshing = () =>
  refreshToken({
    sessions: sessions(),
    clock,
    read: async (token) => JSON.parse(token),
    issue: async ({ refreshId }) => ({ accessToken: "", refreshToken: refreshId }),
  });
const tokenOf = ({ id, accountId }: Session, refreshId: string) =>
  JSON.stringify({ sessionId: id, accountId, refreshId });

it("the same refresh token at once has one successor, through many replicas and in one transaction", async () => {
  const one = refreshing();
  for (const replica of [refreshing, () => one]) {
    const session = someSession();
    await sessions().begin(session, "");
    const copies = times(6, () => replica()(tokenOf(session, session.refreshId), new Uint8Array(), ""));
    const answers = await Promise.all(copies);
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1);
  }
});

it("the account's other sessions keep their refresh tokens and what they are for", async () => {
  const session = someSession();
  const { accountId } = session;
  const others = [someSession({ accountId }), someSession({ accountId, scope: "recover" })];
  for (const each of [session, ...others]) await sessions().begin(each, "");
  await refreshing()(tokenOf(session, session.refreshId), new Uint8Array(), "");
  const kept = (await sessions().list(accountId, now)).filter(({ id }) => id !== session.id);
  expect(new Set(kept)).toEqual(new Set(others));
});

it("refreshes at once share a transaction, and a locked account is waited for alone", async () => {
  const started = times(30, () => someSession());
  await Promise.all(started.map((session) => sessions().begin(session, "")));
  let transactions = 0;
  const counting: typeof postgres = {
    ...postgres,
    transaction: (work, timeoutMs) => {
      transactions += 1;
      return postgres.transaction(work, timeoutMs);
    },
  };
  const store = postgresSessionStore(prisma, counting);
  const touch = (touched: Session) =>
    store.update(touched, (session) => ({ next: { ...session, proofRequired: true }, result: session.id }), now, "");
  const [locked, ...others] = started as [Session, ...Session[]];
  const release = await holdAccount(postgres, locked.accountId);
  const waiting = touch(locked);
  expect(await Promise.all(others.map(touch))).toEqual(others.map(({ id }) => id));
  await release();
  expect(await waiting).toBe(locked.id);
  expect(transactions).toBe(2);
  expect(await store.update(someSession(), () => ({ result: "live" }), now, "")).toBeUndefined();
});

it("copies of a refresh of a session that has ended take two transactions together", async () => {
  const session = someSession();
  await sessions().begin(session, "");
  await sessions().end(session.accountId, { id: session.id }, "signed-out", now, "");
  let transactions = 0;
  const transaction: typeof postgres.transaction = (...work) => {
    transactions += 1;
    return postgres.transaction(...work);
  };
  const store = postgresSessionStore(prisma, { ...postgres, transaction });
  const copies = times(50, () => store.update(session, () => ({ result: "updated" }), now, ""));
  expect(new Set(await Promise.all(copies))).toEqual(new Set([undefined]));
  expect(transactions).toBe(2);
});

it("reuse ends the session, once, for everybody, through many replicas and in one transaction", async () => {
  const one = refreshing();
  for (const replica of [refreshing, () => one]) {
    const session = someSession();
    await sessions().begin(session, "");
    const refresh = (id: string) => replica()(tokenOf(session, id), new Uint8Array(), "");
    const second = await refresh(session.refreshId);
    const third = await refresh(second.refreshToken);
    const copies = times(4, () => refresh(session.refreshId).catch(({ reason }) => reason));
    const over = times(3, () => "SessionEnded");
    expect((await Promise.all(copies)).sort()).toEqual(["RefreshTokenReused", ...over]);
    await expect(refresh(third.refreshToken)).rejects.toMatchObject({ reason: "SessionEnded" });
    expect(await eventsOf(session.accountId, "session-ended")).toBe(1);
    const where = { kind: "session", subject: session.id, active: true };
    expect(await prisma.tokenStateEntry.count({ where })).toBe(1);
  }
});

it("refreshing changes nothing about when the person logged in, nor that nobody knows when", async () => {
  for (const authTime of [new Date(now.getTime() - 60_000), undefined]) {
    const session = someSession({ authTime });
    await sessions().begin(session, "");
    const issued: (Date | undefined)[] = [];
    const refresh = refreshToken({
      sessions: sessions(),
      clock: new FixedClock(new Date(now.getTime() + 3_600_000)),
      read: async () => ({ sessionId: session.id, accountId: session.accountId, refreshId: session.refreshId }),
      issue: async (next) => {
        issued.push(next.authTime);
        return { accessToken: "", refreshToken: next.refreshId };
      },
    });
    await refresh("token", new Uint8Array(), "");
    expect(issued).toEqual([authTime]);
    expect((await sessions().list(session.accountId, now)).map((row) => row.authTime)).toEqual([authTime]);
  }
});

it("a refresh token of a session that is over answers SessionEnded, for any reason that ended it", async () => {
  const refresh = ({ id, refreshId }: Session) =>
    refreshing()(tokenOf({ id, accountId } as Session, refreshId), new Uint8Array(), "");
  const signedOut = someSession();
  await sessions().begin(signedOut, "");
  await sessions().end(signedOut.accountId, { id: signedOut.id }, "signed-out", now, "");
  const removed = someSession();
  await sessions().begin(removed, "");
  const { accountId, deviceKey } = removed;
  await prismaAccessStore(prisma).cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
  const over = someSession({ expiresAt: now });
  const refreshOver = someSession({ refreshExpiresAt: now });
  for (const session of [over, refreshOver]) await sessions().begin(session, "");
  for (const session of [over, refreshOver]) expect(await sessions().list(session.accountId, now)).toEqual([]);
  const pruned = someSession();
  for (const session of [signedOut, removed, over, refreshOver, pruned]) {
    await expect(refresh(session)).rejects.toMatchObject({ reason: "SessionEnded" });
  }
});
