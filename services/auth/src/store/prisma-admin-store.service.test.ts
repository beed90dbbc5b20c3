import { createActionLog } from "@countersign/admin-actions";
import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { decideRequest } from "../domain/admin/decide-request.ts";
import { chainName, signUp } from "../testing/sign-up.ts";
import { eventsOf, now, person, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { postgresSignUpStore } from "./postgres-sign-up-store.ts";
import { prismaAdminStore } from "./prisma-admin-store.ts";
import { openHolds } from "./prisma-hold-store.ts";

const clock = new FixedClock(now.toISOString());
const admin = () => prismaAdminStore(prisma, clock);
const log = () => createActionLog(postgres, clock);
const by = (name: string) => ({ person: name, reason: "a ticket of today" });

let accountId: string;
let profile: ReturnType<typeof person>;

const actions = () =>
  prisma.adminAction.findMany({
    where: { accountId },
    orderBy: { id: "asc" },
    select: { command: true, outcome: true },
  });

beforeEach(async () => {
  profile = { ...person(), email: "Ada@example.com" };
  accountId = (await signUp(clock, profile)).accountId;
});

describe("an act of an administrator", () => {
  it("is committed with its record, or neither", async () => {
    const nobody = uuidv7(clock);
    await expect(admin().hold(by("ada"), nobody)).rejects.toMatchObject({ reason: "AccountNotFound" });
    expect(await prisma.adminAction.count({ where: { accountId: nobody } })).toBe(0);
    const { actionId } = await admin().hold(by("ada"), accountId);
    expect(await openHolds(prisma, accountId)).toMatchObject([{ alertId: actionId, eventType: "administrator" }]);
    expect(await actions()).toEqual([{ command: "accounts freeze", outcome: "done" }]);
    expect(await eventsOf(accountId, "account-frozen")).toBe(1);
  });

  it("ends all sessions, each with its event", async () => {
    const sessions = postgresSessionStore(prisma, postgres);
    for (const session of times(3, () => someSession({ accountId }))) await sessions.begin(session, "");
    expect(await admin().endSessions(by("ada"), accountId)).toMatchObject({ details: ["3 sessions ended"] });
    expect(await sessions.list(accountId, now)).toEqual([]);
    expect(await eventsOf(accountId, "session-ended")).toBe(3);
    expect(await prisma.tokenStateEntry.count({ where: { kind: "account", subject: accountId } })).toBe(0);
    await sessions.begin(someSession({ accountId }), "");
    expect(await sessions.list(accountId, now)).toHaveLength(1);
  });
});

describe("a request", () => {
  const decide = (name: string, requestId: string, approve = true) =>
    decideRequest({ admin: admin(), actions: log(), clock })(by(name), { requestId, accountId, approve });
  const ask = async () => {
    const { actionId: seen } = await admin().hold(by("ada"), accountId);
    return log().request(by("ada"), { command: "accounts unfreeze", accountId, arguments: { seen } });
  };

  it("of several approvals at once one acts, with one event", async () => {
    const actionId = await ask();
    const done = await Promise.allSettled(times(6, (i) => decide(`person-${i}`, actionId)));
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await eventsOf(accountId, "account-unfrozen")).toBe(1);
    expect(await openHolds(prisma, accountId)).toEqual([]);
  });

  it("an approval and a rejection at once are one decision", async () => {
    const actionId = await ask();
    const done = await Promise.allSettled([decide("grace", actionId), decide("linus", actionId, false)]);
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const wasApproved = done[0].status === "fulfilled";
    expect(await openHolds(prisma, accountId)).toHaveLength(wasApproved ? 0 : 1);
  });

  it("lifts no hold that was placed after it named one", async () => {
    const actionId = await ask();
    clock.advance(1);
    await admin().hold(by("ada"), accountId);
    const { details } = await decide("grace", actionId);
    expect(details.at(-1)).toContain("still frozen");
    expect(await openHolds(prisma, accountId)).toHaveLength(1);
  });

  it("whose command is unknown acts for nobody", async () => {
    const actionId = await log().request(by("ada"), { command: "drop", accountId, arguments: {} });
    await expect(decide("grace", actionId)).rejects.toMatchObject({ reason: "AdminRequestNotFound" });
  });
});

describe("a sign-up", () => {
  const of = () => ({ accountId, chainName });

  const later = (ms: number) => new Date(clock.now().getTime() + ms);
  const cancel = async () => {
    const { leaseUntil } = await admin().beginCancel(by("ada"), of(), 30_000);
    return admin().cancelSignUp(by("ada"), of(), leaseUntil);
  };
  const unfinished = async () => {
    profile = person();
    accountId = (await signUp(clock, profile, false)).accountId;
    clock.advance(30_001);
  };

  it("that is complete is neither resumed nor cancelled", async () => {
    const refused = { reason: "SignUpNotFound" };
    await expect(admin().leaseSignUp(by("ada"), of(), now)).rejects.toMatchObject(refused);
    await expect(cancel()).rejects.toMatchObject(refused);
    await expect(admin().cancelSignUp(by("ada"), of(), now)).rejects.toMatchObject(refused);
    expect(await actions()).toEqual([]);
  });

  it("that is unfinished is leased for the one who resumes it", async () => {
    await unfinished();
    const { saga } = await admin().leaseSignUp(by("ada"), of(), later(60_000));
    expect(saga).toMatchObject({ accountId, leaseUntil: later(60_000) });
  });

  it("that is cancelled frees the identity: the person gets another account", async () => {
    await unfinished();
    const cancelled = accountId;
    const { accountOf } = postgresSignUpStore(prisma, postgres);
    const account = () => accountOf(profile.issuer, profile.subject);
    expect(await account()).toBe(cancelled);
    await cancel();
    expect(await account()).toBeUndefined();
    expect(await prisma.identity.count({ where: { accountId } })).toBe(0);
    expect(await eventsOf(accountId, "person-erased")).toBe(1);
    // Their ids may be of the same millisecond, and are in no order then.
    expect((await actions()).map(({ outcome }) => outcome).sort()).toEqual(["begun", "done"]);
    const again = (await signUp(clock, profile)).accountId;
    expect(again).not.toBe(cancelled);
    expect(await account()).toBe(again);
  });

  it("that a runner tries again and again is taken over from it", async () => {
    await unfinished();
    await prisma.signUp.updateMany({ where: { accountId }, data: { leaseUntil: later(20_000) } });
    const { drivenUntil, leaseUntil } = await admin().beginCancel(by("ada"), of(), 30_000);
    expect([drivenUntil, leaseUntil]).toEqual([later(20_000), later(50_000)]);
    const leased = await postgresSignUpStore(prisma, postgres).leaseAbandoned(later(49_999), later(80_000), 100);
    expect(leased.map((saga) => saga.accountId)).not.toContain(accountId);
    // A cancellation that is repeated waits no longer than a driver's lease.
    const repeated = await admin().beginCancel(by("ada"), of(), 30_000);
    expect([repeated.drivenUntil, repeated.leaseUntil]).toEqual([later(30_000), later(60_000)]);
    await admin().cancelSignUp(by("ada"), of(), repeated.leaseUntil);
    expect(await prisma.signUp.count({ where: { accountId } })).toBe(0);
  });

  it("that its runner has given up is cancelled at once", async () => {
    await unfinished();
    const leaseUntil = new Date("9999-01-01T00:00:00Z");
    await prisma.signUp.updateMany({ where: { accountId }, data: { leaseUntil } });
    await cancel();
    expect(await prisma.signUp.count({ where: { accountId } })).toBe(0);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["whose account was deployed", () => prisma.signUp.updateMany({ where: { accountId }, data: { deployedAt: now } })],
    [
      "of an account on another chain too",
      async () => {
        const row = await prisma.signUp.findFirstOrThrow({ where: { accountId } });
        const data = { ...row, chainName: "flow-other", completedAt: now, deviceAttributes: {} };
        await prisma.signUp.create({ data });
      },
    ],
  ])("%s is not cancelled", async (_, prepare) => {
    await unfinished();
    await prepare();
    await expect(cancel()).rejects.toMatchObject({ reason: "SignUpOnChain" });
    expect(await prisma.identity.count({ where: { accountId } })).toBe(1);
    expect(await actions()).toEqual([]);
  });

  it("that a request continues meanwhile is not cancelled: it may register key and device", async () => {
    await unfinished();
    const { leaseUntil } = await admin().beginCancel(by("ada"), of(), 30_000);
    await prisma.signUp.updateMany({ where: { accountId }, data: { leaseUntil: later(30_001) } });
    const refused = admin().cancelSignUp(by("ada"), of(), leaseUntil);
    await expect(refused).rejects.toMatchObject({ reason: "SignUpOnChain" });
    expect(await prisma.signUp.count({ where: { accountId } })).toBe(1);
  });
});

describe("an administrator who resumes a sign-up", () => {
  it("comes after another one who cancels it or erases the person: nobody drives what is gone", async () => {
    profile = person();
    accountId = (await signUp(clock, profile, false)).accountId;
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const erasing = prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT 1 FROM identity WHERE account_id = ${accountId}::uuid FOR UPDATE`;
      locked();
      await mayCommit;
      await tx.signUp.deleteMany({ where: { accountId } });
      await tx.identity.deleteMany({ where: { accountId } });
    });
    await isLocked;
    const resuming = admin().leaseSignUp(by("ada"), { accountId, chainName }, now);
    const refused = expect(resuming).rejects.toMatchObject({ reason: "SignUpNotFound" });
    const waits = () => prisma.$queryRaw<object[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(waits).toHaveLength(1).finally(commit);
    await erasing;
    await refused;
  });
});
