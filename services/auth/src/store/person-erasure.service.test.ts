import { FixedClock } from "@countersign/core/testing";
import { sql } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { chainName, signUp } from "../testing/sign-up.ts";
import { app, eventsOf, now, person, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { authReadings } from "./account-readings.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { postgresSignUpStore } from "./postgres-sign-up-store.ts";
import { prismaAdminStore } from "./prisma-admin-store.ts";
import { toSaga } from "./rows.ts";

const clock = new FixedClock(now.toISOString());
const by = (name: string) => ({ person: name, reason: "a ticket of today" });
const admin = () => prismaAdminStore(prisma, clock);

let accountId: string;
beforeEach(async () => {
  accountId = (await signUp(clock, { ...person(), email: "Ada@example.com" })).accountId;
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
    const acts = await prisma.adminAction.findMany({ where: { accountId }, orderBy: { id: "asc" } });
    expect(acts.map(({ outcome }) => outcome)).toEqual(["done", "done"]);
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
