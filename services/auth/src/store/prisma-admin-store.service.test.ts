import { createActionLog } from "@countersign/admin-actions";
import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { sql } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { decideRequest } from "../domain/admin/decide-request.ts";
import { decideSignUp } from "../domain/sign-up/sign-up.ts";
import { SIGN_UP_STEPS } from "../domain/sign-up/sign-up-saga.ts";
import { sampleDevice } from "../testing/sample-device.ts";
import { app, eventsOf, now, person, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { ACCOUNT_TABLES, authReadings } from "./account-readings.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { postgresSignUpStore } from "./postgres-sign-up-store.ts";
import { prismaAdminStore } from "./prisma-admin-store.ts";
import { openHolds } from "./prisma-hold-store.ts";
import { toSaga } from "./rows.ts";

const clock = new FixedClock(now.toISOString());
const admin = () => prismaAdminStore(prisma, clock);
const log = () => createActionLog(postgres, clock);
const by = (name: string) => ({ person: name, reason: "a ticket of today" });
const chainName = "flow-emulator";

let accountId: string;
let profile: ReturnType<typeof person>;

/** Signs a person up; `complete` takes all steps. */
async function signUp(complete = true, chain = chainName) {
  const { publicKey } = generateKeyPair();
  const store = postgresSignUpStore(prisma, postgres);
  const leased = await store.lease(
    {
      profile,
      chainName: chain,
      app,
      userKeyType: "device",
      accountKey: publicKey,
      deviceKey: publicKey,
      device: sampleDevice,
      deviceId: uuidv7(clock),
      sessionId: uuidv7(clock),
      profileImageUrl: "",
      newAccountId: uuidv7(clock),
      session: undefined,
      idempotency: undefined,
      leaseUntil: new Date(now.getTime() + 30_000),
      now,
    },
    decideSignUp,
  );
  if (leased.kind !== "drive") throw new Error(leased.kind);
  if (complete) await store.mark(leased.saga, SIGN_UP_STEPS, now);
  return leased.saga;
}

const actions = () =>
  prisma.adminAction.findMany({
    where: { accountId },
    orderBy: { id: "asc" },
    select: { command: true, outcome: true },
  });

beforeEach(async () => {
  profile = { ...person(), email: "Ada@example.com" };
  accountId = (await signUp()).accountId;
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
    accountId = (await signUp(false)).accountId;
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
    await cancel();
    expect(await prisma.identity.count({ where: { accountId } })).toBe(0);
    expect(await eventsOf(accountId, "person-erased")).toBe(1);
    // Their ids may be of the same millisecond, and are in no order then.
    expect((await actions()).map(({ outcome }) => outcome).sort()).toEqual(["begun", "done"]);
    expect((await signUp()).accountId).not.toBe(cancelled);
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
    accountId = (await signUp(false)).accountId;
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

describe("erasure", () => {
  it("waits for a sign-up under way, ends sessions, leaves nothing that leads to the person, and can be repeated", async () => {
    await prisma.signUp.updateMany({ where: { accountId }, data: { completedAt: null } });
    await expect(admin().erase(by("ada"), accountId)).rejects.toMatchObject({ reason: "SignUpOnChain" });
    await prisma.signUp.updateMany({ where: { accountId }, data: { completedAt: now } });
    const sessions = postgresSessionStore(prisma, postgres);
    await sessions.begin(someSession({ accountId }), "");
    await admin().erase(by("ada"), accountId);
    await expect(sessions.begin(someSession({ accountId }), "")).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
    const rows: string[] = [];
    for await (const { rowJson } of authReadings(postgres).exportRows(accountId)) rows.push(rowJson);
    expect(rows.join("\n")).not.toMatch(/example\.com/i);
    await admin().erase(by("ada"), accountId);
    expect(await eventsOf(accountId, "person-erased")).toBe(2);
    expect((await actions()).map(({ outcome }) => outcome)).toEqual(["done", "done"]);
  });
});

describe("requests for new devices that nobody approved", () => {
  it("do not keep a person from being erased, as many as there are", { timeout: 60_000 }, async () => {
    // Somebody with the login sends hundreds of thousands in a week; these take as long.
    await postgres.execute(sql`
      CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.002); RETURN OLD; END'`);
    await postgres.execute(sql`
      CREATE TRIGGER slow BEFORE DELETE ON two_factor_sign_in FOR EACH ROW EXECUTE FUNCTION slowly()`);
    const insert = (count: number, transactionId: string | null) =>
      postgres.execute(sql`
        INSERT INTO two_factor_sign_in (id, account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm,
          account_key, device_key_algorithm, device_key, device_attributes, token_id, created_at, expires_at, transaction_id)
        SELECT gen_random_uuid(), ${accountId}::uuid, ${chainName}, 'app', 'App', 'device', 'ES256', 'aa', 'ES256', 'aa',
          '{}', gen_random_uuid(), ${now}, ${now}, ${transactionId} FROM generate_series(1, ${count}::int)`);
    await insert(3_000, null);
    await insert(1, "ab");
    await admin().erase(by("ada"), accountId);
    expect(await prisma.twoFactorSignIn.count({ where: { accountId } })).toBe(0);
    await postgres.execute(sql`DROP TRIGGER slow ON two_factor_sign_in`);
  });
});

describe("the event of an erasure", () => {
  it.each([false, true])("names all apps of the account, also when repeated (several nodes: %s)", async (isSpread) => {
    const sessions = postgresSessionStore(prisma, postgres);
    for (const appId of [app.appId, "game", "game", "shop"])
      await sessions.begin({ ...someSession({ accountId, expiresAt: now }), app: { ...app, appId } }, "");
    const nodes = { ...postgres, isDistributed: async () => isSpread };
    while (await deleteExpiredRows(nodes)(new Date(now.getTime() + 8 * 24 * 3_600_000)));
    expect(await prisma.session.count({ where: { accountId } })).toBe(0);
    // The sign-up knows its own app.
    expect(await prisma.accountApp.count({ where: { accountId } })).toBe(2);
    await admin().erase(by("ada"), accountId);
    await admin().erase(by("ada"), accountId);
    const events = await prisma.outbox.findMany({ where: { subject: `cs.v1.auth.${accountId}.person-erased` } });
    const apps = events.map(({ payload }) => Event.decode(payload).personErased?.appIds.toSorted());
    expect(apps).toEqual(times(2, () => [app.appId, "game", "shop"]));
  });
});

describe("an erasure and a request that begins a further chain", () => {
  it("does not wait for one that a further chain has refused, which nobody could end", async () => {
    const further = { accountId, chainName: "flow-other" };
    const saga = await prisma.signUp.findFirstOrThrow({ where: { accountId } });
    await prisma.signUp.create({ data: { ...saga, ...further, completedAt: null, deviceAttributes: {} } });
    await expect(admin().erase(by("ada"), accountId)).rejects.toMatchObject({ reason: "SignUpOnChain" });
    await postgresSignUpStore(prisma, postgres).giveUp({ ...toSaga(saga), ...further });
    const cancelling = admin().beginCancel(by("ada"), further, 30_000);
    await expect(cancelling).rejects.toMatchObject({ reason: "SignUpOnChain" });
    await admin().erase(by("ada"), accountId);
    expect(await prisma.signUp.count({ where: { accountId } })).toBe(0);
  });

  it("come one after the other: no sign-up outlives its identity", async () => {
    const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const row = await prisma.signUp.findFirstOrThrow({ where: { accountId } });
    const leasing = prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT 1 FROM identity WHERE account_id = ${accountId}::uuid FOR UPDATE`;
      locked();
      await mayCommit;
      const data = { ...row, chainName: "flow-other", completedAt: null, deviceAttributes: {} };
      await tx.signUp.create({ data });
    });
    await isLocked;
    const refused = expect(admin().erase(by("ada"), accountId)).rejects.toMatchObject({ reason: "SignUpOnChain" });
    const waits = () => prisma.$queryRaw<object[]>`
      SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(waits).toHaveLength(1);
    commit();
    await leasing;
    await refused;
    expect(await prisma.identity.count({ where: { accountId } })).toBe(1);
  });
});

describe("the tables that administrators see", () => {
  it("show no push token, at any depth of a column", async () => {
    const pushToken = "push-token-of-ada";
    const deviceAttributes = { ...sampleDevice, pushToken, more: [{ pushToken }] };
    await prisma.signUp.updateMany({ where: { accountId }, data: { deviceAttributes } });
    const readings = authReadings(postgres);
    const shown = [JSON.stringify(await readings.describe(accountId))];
    for await (const { rowJson } of readings.exportRows(accountId)) shown.push(rowJson);
    expect(shown.join("\n")).toContain(sampleDevice.name);
    expect(shown.join("\n")).not.toContain(pushToken);
  });

  it("are all that have rows about accounts, but three that are empty within a day", async () => {
    const rows = await prisma.$queryRaw<{ name: string }[]>`
      SELECT DISTINCT table_name::text AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name = 'account_id'`;
    const shown = ACCOUNT_TABLES.map(({ name }) => name);
    expect([...shown, "challenge", "outbox", "used_idempotency_key"].sort()).toEqual(
      rows.map(({ name }) => name).sort(),
    );
  });

  it("are exported whole, as many rows as there are", { timeout: 60_000 }, async () => {
    // Somebody with the login leaves more in three days.
    await postgres.execute(sql`
      INSERT INTO blocked_key (account_id, algorithm, public_key)
      SELECT ${accountId}::uuid, 'ES256', i::text FROM generate_series(1, 100001) AS i`);
    const keys = new Set<string>();
    for await (const { table, rowJson } of authReadings(postgres).exportRows(accountId))
      if (table === "blocked_key") keys.add(JSON.parse(rowJson).public_key);
    expect(keys.size).toBe(100_001);
  });

  it("find a person by e-mail in any case, by identity and by each id", async () => {
    const { find } = authReadings(postgres);
    const other = uuidv4();
    expect(await find({ kind: "email", text: "ada@EXAMPLE.com" })).toContain(accountId);
    expect(await find({ kind: "email", text: "%@example.com" })).toEqual([]);
    expect(await find({ kind: "identity", issuer: profile.issuer, subject: profile.subject })).toEqual([accountId]);
    expect(await find({ kind: "id", text: accountId })).toEqual([accountId]);
    expect(await find({ kind: "id", text: other })).toEqual([]);
    expect(await find({ kind: "address", text: "0".repeat(16) })).toEqual([]);
  });
});
