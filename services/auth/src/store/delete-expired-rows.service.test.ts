import { unchanging } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { type Postgres, sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import { clock, now, postgres, prisma, someSession } from "../testing/store-fixture.ts";
import { createTokenKeys } from "../tokens/token-keys.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaTokenKeyStore } from "./prisma-token-key-store.ts";

const DAY_MS = 24 * 3_600_000;
const after = (ms: number) => new Date(now.getTime() + ms);
const sessions = () => postgresSessionStore(prisma, postgres);
const deleteAll = async (at: Date, on = postgres) => {
  for (let isMore = true; isMore; ) isMore = await deleteExpiredRows(on)(at);
};

describe("sessions", () => {
  it("are deleted a week after they ended or expired", async () => {
    const [live, ended, expired] = [someSession(), someSession(), someSession({ expiresAt: now })];
    for (const session of [live, ended, expired]) await sessions().begin(session, "");
    await sessions().end(ended.accountId, { id: ended.id }, "signed-out", now, "");
    const left = async () => {
      const rows = await prisma.session.findMany({ where: { id: { in: [live.id, ended.id, expired.id] } } });
      return rows.map(({ id }) => id).sort();
    };
    await deleteAll(after(7 * DAY_MS));
    expect(await left()).toEqual([live.id, ended.id, expired.id].sort());
    await deleteAll(after(7 * DAY_MS + 1));
    expect(await left()).toEqual([live.id]);
    expect(await sessions().list(live.accountId, now)).toHaveLength(1);
  });

  it("a removed device's account keys are blocked, also those of deleted sessions", async () => {
    const [first, second] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
    const session = someSession({ accountKey: first, expiresAt: now });
    const { accountId, deviceKey } = session;
    await sessions().begin(session, "");
    await sessions().begin({ ...someSession({ accountKey: second, expiresAt: now }), accountId, deviceKey }, "");
    await deleteAll(after(8 * DAY_MS));
    expect(await prisma.session.count({ where: { accountId } })).toBe(0);
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
    expect(await prisma.blockedKey.count({ where: { accountId, OR: [first, second], until: null } })).toBe(2);
  });

  it("a device is as old on the account as its first session, also when that is deleted", async () => {
    const session = someSession({ createdAt: after(-60 * DAY_MS), expiresAt: after(-30 * DAY_MS) });
    const { accountId, deviceKey: key } = session;
    const later = { accountId, deviceKey: key, createdAt: after(-50 * DAY_MS), expiresAt: after(-20 * DAY_MS) };
    for (const each of [someSession(later), session]) {
      await sessions().begin(each, "");
      await deleteAll(now);
    }
    // A session of a recovery key is none of a device that is there.
    await sessions().begin(
      someSession({ ...later, createdAt: after(-90 * DAY_MS), expiresAt: after(-20 * DAY_MS), scope: "recover" }),
      "",
    );
    await deleteAll(now);
    expect(await prisma.session.count({ where: { accountId } })).toBe(0);
    const rows = await prisma.formerSession.findMany({ where: { accountId }, select: { firstFullAt: true } });
    const times = rows.flatMap(({ firstFullAt }) => firstFullAt?.getTime() ?? []);
    expect(Math.min(...times)).toBe(session.createdAt.getTime());
  });
});

it("a statement deletes at most a thousand rows, however many have expired", async () => {
  await postgres.execute(sql`
    INSERT INTO challenge (data, type, account_id, chain_name, app_id, app_name, expires_at)
    SELECT md5(i::text), 'device-key', gen_random_uuid(), 'flow-emulator', 'demo', 'Demo',
      ${after(-DAY_MS)}::timestamptz + i * interval '1 ms'
    FROM generate_series(1, 12500) i`);
  const deleted: number[] = [];
  const counting: Postgres = {
    ...postgres,
    async execute(statement) {
      const count = await postgres.execute(statement);
      deleted.push(count);
      return count;
    },
  };
  await deleteAll(clock.now(), counting);
  expect(await prisma.challenge.count()).toBe(0);
  expect(Math.max(...deleted)).toBe(1_000);
});

it("a sign-in with a new device stays if a transaction added its key", async () => {
  const { publicKey } = generateKeyPair();
  const added = [null, "ab".repeat(32)];
  const session = someSession();
  for (const transactionId of added) {
    await prisma.twoFactorSignIn.create({
      data: {
        id: crypto.randomUUID(),
        accountId: session.accountId,
        chainName: "flow-emulator",
        appId: "demo",
        appName: "Demo",
        accountKeyAlgorithm: publicKey.algorithm,
        accountKey: publicKey.publicKey,
        deviceKeyAlgorithm: publicKey.algorithm,
        deviceKey: publicKey.publicKey,
        deviceAttributes: {},
        tokenId: crypto.randomUUID(),
        createdAt: now,
        expiresAt: now,
        transactionId,
      },
    });
  }
  await deleteAll(after(8 * DAY_MS));
  const left = await prisma.twoFactorSignIn.findMany({ where: { accountId: session.accountId } });
  expect(left.map(({ transactionId }) => transactionId)).toEqual([added[1]]);
});

it.each(["tokenKey", "identityKey"] as const)("a %s is deleted when it verifies no token any more", async (name) => {
  const store = prismaTokenKeyStore(prisma, name);
  const keys = createTokenKeys({ store, keyring: unchanging([Buffer.alloc(32, 7)]), clock, periodMs: 30 * DAY_MS });
  await keys.rotate();
  await deleteAll(after(61 * DAY_MS - 1));
  expect(await store.list(new Date(0))).toHaveLength(1);
  await deleteAll(after(61 * DAY_MS));
  expect(await store.list(new Date(0))).toEqual([]);
});
