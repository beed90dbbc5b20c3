import { FixedClock, uuidv7 } from "@countersign/service-kit";
import { describe, expect, it } from "vitest";
import { refreshToken } from "../domain/refresh-token.ts";
import type { Session } from "../domain/session.ts";
import { clock, eventsOf, now, prisma, someSession, times } from "../testing/store-fixture.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaSessionStore } from "./prisma-session-store.ts";
import { prismaTokenStateStore } from "./prisma-token-state-store.ts";

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
    await expect(refresh(third.refreshToken)).rejects.toMatchObject({ reason: "SessionEnded" });
    expect(await eventsOf(session.accountId, "session-ended")).toBe(1);
    expect(await prisma.tokenStateEntry.count({ where: { kind: "session", subject: session.id, active: true } })).toBe(
      1,
    );
  });

  it("refreshing changes nothing about when the person logged in, nor that nobody knows when", async () => {
    for (const authTime of [new Date(now.getTime() - 60_000), undefined]) {
      const session = someSession({ authTime });
      await sessions().begin(session, "");
      const issued: (Date | undefined)[] = [];
      const refresh = refreshToken({
        sessions: sessions(),
        clock: new FixedClock(new Date(now.getTime() + 3_600_000)),
        read: async () => ({ sessionId: session.id, refreshId: session.refreshId }),
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
      refreshing()(JSON.stringify({ sessionId: id, refreshId }), new Uint8Array(), "");
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
    const pruned = someSession();
    for (const session of [signedOut, removed, over, refreshOver, pruned]) {
      await expect(refresh(session)).rejects.toMatchObject({ reason: "SessionEnded" });
    }
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
