import { DAY_MS, uuidv4, uuidv7 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { describe, expect, it } from "vitest";
import { refreshToken } from "../domain/sessions/refresh-token.ts";
import { rotate, type Session, type SessionStore } from "../domain/sessions/session.ts";
import { clock, eventsOf, now, postgres, prisma, replacedOf, someSession, times } from "../testing/store-fixture.ts";
import { tokenStateSince } from "../testing/token-state.ts";
import { waitsForAccount } from "../testing/waits-for-account.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { postgresTokenStateStore } from "./postgres-token-state-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";

describe("sessions", () => {
  const sessions = () => postgresSessionStore(prisma, postgres);

  it("begins once, however often and in parallel; after a later sign-in it is over", async () => {
    const session = someSession();
    const repeated = () => sessions().begin({ ...session, refreshId: uuidv4() }, "");
    const begun = await Promise.all(times(6, repeated));
    expect(new Set(begun.map((each) => each!.refreshId)).size).toBe(1);
    expect(await eventsOf(session.accountId, "session-created")).toBe(1);

    const second = uuidv4();
    await sessions().update(session, (first) => ({ next: rotate(first, second, now), result: "refreshed" }), now, "");
    expect(await repeated()).toMatchObject({ refreshId: second, previousRefreshId: begun[0]!.refreshId });

    const { accountId, deviceKey } = session;
    const signedIn = someSession({ accountId, deviceKey });
    await sessions().begin(signedIn, "");
    expect(await repeated()).toBeUndefined();
    const live = await sessions().list(session.accountId, now);
    expect(live.map(({ id }) => id)).toEqual([signedIn.id]);
  });

  it("does not begin where its device has another one since it was asked for, unless by that one", async () => {
    const asked = (seconds: number, bySession?: string) => ({
      at: new Date(now.getTime() + seconds * 1_000),
      bySession,
    });
    const signedIn = someSession();
    const { accountId, deviceKey, app } = signedIn;
    await sessions().begin(signedIn, "");
    const late = someSession({ accountId, deviceKey });
    const live = async () => (await sessions().list(accountId, now)).map(({ id }) => id);
    expect(await sessions().begin(late, "", asked(-1))).toBeUndefined();
    expect(await sessions().begin(late, "", asked(-1, uuidv4()))).toBeUndefined();
    expect(await live()).toEqual([signedIn.id]);

    const others = [
      someSession({ accountId }),
      someSession({ deviceKey }),
      someSession({ accountId, deviceKey, app: { ...app, appId: "other" } }),
    ];
    for (const other of others) expect(await sessions().begin(other, "", asked(-1))).toEqual(other);
    const next = someSession({ accountId, deviceKey });
    expect(await sessions().begin(next, "", asked(-1, signedIn.id))).toEqual(next);
    expect(await live()).not.toContain(signedIn.id);
    // Asked for after the device's newest one.
    expect(await sessions().begin(late, "", asked(1))).toEqual(late);
    // Not begun again by a copy where the later one is over as well.
    await sessions().end(accountId, { id: late.id }, "signed-out", now, "");
    expect(await sessions().begin(someSession({ accountId, deviceKey }), "", asked(-1))).toBeUndefined();
  });

  it("one account cannot end another's", async () => {
    const session = someSession();
    await sessions().begin(session, "");
    expect(await sessions().end(uuidv7(clock), { id: session.id }, "ended-by-user", now, "")).toBe(0);
    expect(await sessions().end(session.accountId, { id: session.id }, "ended-by-user", now, "")).toBe(1);
    expect(await sessions().end(session.accountId, { id: session.id }, "ended-by-user", now, "")).toBe(0);
  });

  it("all of an account but one end, under the account's lock", async () => {
    const [own, elsewhere] = [someSession(), someSession()];
    const { accountId } = own;
    for (const each of [own, elsewhere, ...times(2, () => someSession({ accountId }))])
      await sessions().begin(each, "");
    const end = () => sessions().end(accountId, { allBut: own.id }, "ended-by-user", now, "");
    expect(await waitsForAccount(accountId, end)).toBe(true);
    expect(await sessions().list(accountId, now)).toEqual([own]);
    expect(await sessions().list(elsewhere.accountId, now)).toEqual([elsewhere]);
  });

  it.each(["full", "recover"] as const)(
    "others end few of a device's or recovery key's in a day (%s)",
    async (scope) => {
      const own = someSession();
      const { accountId } = own;
      await sessions().begin(own, "");
      const { deviceKey } = someSession();
      const signIn = async () => {
        const session = { ...someSession({ accountId, deviceKey }), scope };
        await sessions().begin(session, "");
        return session;
      };
      type Which = Parameters<SessionStore["end"]>[1];
      const end = (which: Which, at = now) => sessions().end(accountId, which, "ended-by-user", at, "");
      const by = own.deviceKey;
      // Those that it ends itself do not count: a thief would end five, and then nobody could end one.
      for (let times = 0; times < 5; times++) expect(await end({ id: (await signIn()).id, by: deviceKey })).toBe(1);
      for (let times = 0; times < 5; times++) expect(await end({ id: (await signIn()).id, by })).toBe(1);
      const { id } = await signIn();
      await expect(end({ id, by })).rejects.toMatchObject({ reason: "TimeLockContested" });
      expect(await end({ allBut: own.id, by })).toBe(0);
      expect(await end({ id, by: deviceKey })).toBe(1);
      const later = new Date(now.getTime() + DAY_MS);
      expect(await end({ id: (await signIn()).id, by }, later)).toBe(1);
      const { id: signedOut } = await signIn();
      expect(await sessions().end(accountId, { id: signedOut }, "signed-out", now, "")).toBe(1);
    },
  );

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
    const entries = await tokenStateSince();
    expect(entries.filter((entry) => entry.blockedKey?.accountId === accountId)).toHaveLength(1);
  });
});

describe("a new session of a device", () => {
  const sessions = () => postgresSessionStore(prisma, postgres);
  const live = async (accountId: string) => (await sessions().list(accountId, now)).map(({ id }) => id);
  /** Returns a session of the same device, unless `change` says otherwise. */
  const sameDevice = ({ accountId, deviceKey, accountKey }: Session, change: Partial<Session> = {}) =>
    someSession({ accountId, deviceKey, accountKey, ...change });
  const beginnings = async (accountId: string) => {
    const subject = `cs.v1.auth.${accountId}.session-created`;
    const rows = await prisma.outbox.findMany({ where: { subject }, orderBy: { id: "asc" } });
    return rows.map(({ id, payload }) => ({ row: id, ...Event.decode(payload) }));
  };
  const entriesOf = (ids: string[]) =>
    prisma.tokenStateEntry.findMany({ where: { kind: "session", subject: { in: ids }, active: true } });

  it("replaces its older one of the same app, with an event and for every service", async () => {
    const first = someSession();
    const second = sameDevice(first);
    await sessions().begin(first, "");
    const before = await postgresTokenStateStore(postgres).readPositions();
    // A request id that looks like what the statement puts in.
    const requestId = "00000000-0000-0000-0000-000000000000";
    await sessions().begin(second, requestId);
    expect(await live(first.accountId)).toEqual([second.id]);
    const [begun, event, ...others] = await beginnings(first.accountId);
    expect(others).toEqual([]);
    expect(begun!.sessionCreated).toMatchObject({ sessionId: first.id, replacedSessionId: requestId });
    expect(event).toMatchObject({
      accountId: first.accountId,
      requestId,
      occurredAt: now,
      sessionCreated: { sessionId: second.id, replacedSessionId: first.id },
    });
    expect(event!.row).toBe(event!.id);
    expect(await eventsOf(first.accountId, "session-ended")).toBe(0);
    const [entry] = await entriesOf([first.id, second.id]);
    expect(entry).toMatchObject({ subject: first.id, until: new Date(now.getTime() + 16 * 60_000) });
    const state = await tokenStateSince(before);
    expect(state.map(({ endedSessionId }) => endedSessionId)).toContain(first.id);
    expect(await prisma.session.findUnique({ where: { id: first.id } })).toMatchObject({
      endedAt: now,
      endedCause: "replaced",
    });
    await expect(
      refreshToken({
        sessions: sessions(),
        clock,
        read: async () => ({ sessionId: first.id, accountId: first.accountId, refreshId: first.refreshId }),
        issue: async () => ({ accessToken: "", refreshToken: "" }),
      })("token", new Uint8Array(), ""),
    ).rejects.toMatchObject({ reason: "SessionEnded" });
  });

  it("replaces its older one at a position that no lost commit had", async () => {
    const first = someSession();
    await sessions().begin(first, "");
    const heads = await prisma.tokenStateHead.findMany();
    const second = sameDevice(first);
    await sessions().begin(second, "");
    const seen = await postgresTokenStateStore(postgres).readPositions();
    // A failover to a replica that has only the heads of before.
    for (const { bucket, position } of heads)
      await prisma.tokenStateHead.update({ where: { bucket }, data: { position } });
    const third = sameDevice(first);
    await sessions().begin(third, "");
    expect((await tokenStateSince(seen)).map(({ endedSessionId }) => endedSessionId)).toEqual([second.id]);
    // Positions that are ahead of the clock.
    await prisma.tokenStateHead.updateMany({ data: { position: { increment: 3_600_000 } } });
    const ahead = await postgresTokenStateStore(postgres).readPositions();
    await sessions().begin(sameDevice(first), "");
    expect((await tokenStateSince(ahead)).map(({ endedSessionId }) => endedSessionId)).toEqual([third.id]);
  });

  it("leaves those of another app, device and account alone", async () => {
    const first = someSession();
    const others = [
      sameDevice(first, { app: { appId: "other", appName: "Other" } }),
      someSession({ accountId: first.accountId }),
      sameDevice(first, { accountId: uuidv7(clock) }),
    ];
    for (const session of [first, ...others]) await sessions().begin(session, "");
    const second = sameDevice(first);
    await sessions().begin(second, "");
    const kept = [second, others[0]!, others[1]!].map(({ id }) => id).sort();
    expect((await live(first.accountId)).sort()).toEqual(kept);
    expect(await live(others[2]!.accountId)).toEqual([others[2]!.id]);
  });

  it("is the only one, however many begin at once", async () => {
    const first = someSession();
    const all = [first, ...times(9, () => sameDevice(first))];
    await Promise.all(all.map((session) => sessions().begin(session, "")));
    const stayed = await live(first.accountId);
    expect(stayed).toHaveLength(1);
    const replaced = all.map(({ id }) => id).filter((id) => !stayed.includes(id));
    expect((await replacedOf(first.accountId)).sort()).toEqual(replaced.sort());
    expect(await entriesOf(replaced)).toHaveLength(9);
  });

  it("that is refused ends nothing", async () => {
    const first = someSession();
    const { accountId, deviceKey } = first;
    await sessions().begin(first, "");
    const accountKey = someSession().accountKey;
    const blocked = someSession({ accountId, accountKey, deviceKey: accountKey });
    await sessions().begin(blocked, "");
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey: accountKey, removedAt: now, requestId: "" });
    const refused = sameDevice(first, { accountKey });
    await expect(sessions().begin(refused, "")).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
    expect(await live(accountId)).toEqual([first.id]);
    expect(deviceKey).not.toEqual(accountKey);
  });

  it("writes no entry for one whose last access token has expired", async () => {
    const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
    const old = someSession({ createdAt: minutesAgo(17), lastUsedAt: minutesAgo(17) });
    const young = someSession({ createdAt: minutesAgo(99), lastUsedAt: minutesAgo(16) });
    for (const first of [old, young]) {
      await sessions().begin(first, "");
      await sessions().begin(sameDevice(first), "");
      expect(await replacedOf(first.accountId)).toEqual([first.id]);
    }
    expect((await entriesOf([old.id, young.id])).map(({ subject }) => subject)).toEqual([young.id]);
  });

  it("writes one where a sign-up that was repeated since has issued its tokens again", async () => {
    const begunAt = new Date(now.getTime() - 17 * 60_000);
    const repeatedAt = new Date(now.getTime() - 8 * 60_000);
    const first = someSession({ createdAt: begunAt, lastUsedAt: begunAt });
    await sessions().begin(first, "");
    const repeated = await sessions().begin({ ...first, createdAt: repeatedAt, lastUsedAt: repeatedAt }, "");
    expect(repeated).toMatchObject({ id: first.id, refreshId: first.refreshId });
    await sessions().begin(sameDevice(first), "");
    expect((await entriesOf([first.id])).map(({ subject }) => subject)).toEqual([first.id]);
  });
});
