import { BLOCK_SENT_MS, uuidv7 } from "@countersign/core";
import { createEarlierDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres } from "@countersign/postgres";
import { expect, it } from "vitest";
import { clock, eventsOf, now, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { tokenStateSince } from "../testing/token-state.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { postgresBlockedKeyStore } from "./postgres-blocked-key-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaHoldStore } from "./prisma-hold-store.ts";
import { toSessionColumns } from "./rows.ts";

const HOUR_MS = 3_600_000;
const sessions = () => postgresSessionStore(prisma, postgres);
const leave = (accountId: string, leftAt = now) =>
  prismaAccessStore(prisma).leave({ accountId, leftAt, requestId: "" });
const entriesOf = async (accountId: string) =>
  (await tokenStateSince()).filter(({ frozenAccountId }) => frozenAccountId === accountId);
const live = (accountId: string) => prisma.session.count({ where: { accountId, endedAt: null } });

it("an account that leaves is in the token state for as long as its tokens live, and gets no new ones", async () => {
  const session = someSession();
  const { accountId, deviceKey } = session;
  await sessions().begin(session, "");
  const before = Date.now();
  // The event came late: its tokens may be young.
  await leave(accountId, new Date(before - 5 * HOUR_MS));
  expect(await live(accountId)).toBe(0);
  expect(await eventsOf(accountId, "session-ended")).toBe(1);
  const [entry] = await entriesOf(accountId);
  expect(entry).toMatchObject({ active: true });
  expect(Math.abs(entry!.until!.getTime() - before - BLOCK_SENT_MS)).toBeLessThan(10_000);

  await deleteExpiredRows(postgres)(new Date(before + 28 * HOUR_MS));
  expect(await entriesOf(accountId)).toEqual([]);
  expect(await postgresBlockedKeyStore(postgres).hasLeft(accountId)).toBe(true);
  expect(await postgresBlockedKeyStore(postgres).hasLeft(uuidv7(clock))).toBe(false);
  const late = sessions().begin(someSession({ accountId, deviceKey }), "");
  await expect(late).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
  expect(await live(accountId)).toBe(0);
  const other = someSession();
  expect(await sessions().begin(other, "")).toEqual(other);
});

it("an account that leaves while sessions begin has none afterwards", async () => {
  for (let i = 0; i < 20; i += 1) {
    const { accountId } = someSession();
    const begun = times(3, () => sessions().begin(someSession({ accountId }), ""));
    await Promise.allSettled([...begun, leave(accountId)]);
    expect(await live(accountId)).toBe(0);
  }
});

it("an alert about an account that has left is in the token state no longer than the account", async () => {
  const accountId = uuidv7(clock);
  await leave(accountId);
  const hold = { alertId: uuidv7(clock), accountId, chainName: "c", transactionId: "ab".repeat(32), eventType: "e" };
  await prismaHoldStore(prisma).place(hold, now);
  const [entry] = await entriesOf(accountId);
  expect(entry).toMatchObject({ active: true, until: expect.any(Date) });
});

it("sessions of accounts that had left end with the migration, and so do their entries", async () => {
  const database = await createEarlierDatabase("auth", "token_state_buckets");
  const { adapter, close } = openPostgres(database.url, { connections: 2 });
  const earlier = new PrismaClient({ adapter });
  try {
    const [gone, frozen] = [someSession(), someSession()];
    for (const { accountId } of [gone, frozen])
      await earlier.$executeRaw`
        INSERT INTO token_state_entry (kind, subject, active, until, txid) VALUES ('account', ${accountId}, true, NULL, 1)`;
    await earlier.$executeRaw`
      INSERT INTO token_state_entry (kind, subject, active, until, txid)
      VALUES ('session', ${frozen.id}, true, ${now}, 1), ('key', ${`${frozen.accountId}/ES256/ab`}, true, ${now}, 1)`;
    await earlier.leftAccount.create({ data: { accountId: gone.accountId, leftAt: now } });
    for (const session of [gone, frozen])
      await earlier.$executeRaw`
        INSERT INTO session SELECT * FROM json_populate_record(NULL::session, ${JSON.stringify(toSessionColumns(session))}::json)`;
    await database.migrate();
    const ended = await earlier.session.findMany({ where: { endedAt: { not: null } } });
    expect(ended.map(({ id, endedCause }) => [id, endedCause])).toEqual([[gone.id, "account-left"]]);
    const entries = await earlier.tokenStateEntry.findMany();
    expect(entries.filter(({ until }) => until === null).map(({ subject }) => subject)).toEqual([frozen.accountId]);
    const bucketOf = (accountId: string) => Number.parseInt(accountId.slice(-2), 16);
    const expected = ({ subject }: { subject: string }) =>
      bucketOf(subject === gone.accountId ? gone.accountId : frozen.accountId);
    expect(entries.map(({ bucket }) => bucket)).toEqual(entries.map(expected));
    expect(await earlier.tokenStateHead.count()).toBe(256);
  } finally {
    await close();
    await database.drop();
  }
});
