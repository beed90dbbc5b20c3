import { uuidv7 } from "@countersign/core";
import { lockAccount, queriesIn } from "@countersign/postgres";
import { expect, it } from "vitest";
import type { SequenceNumberUse } from "../policy/effects.ts";
import { clock, postgres, prisma, replicas } from "../testing/store-fixture.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import type { PrismaClient } from "./generated/client.ts";
import { prismaSignedTemplates, recordSequenceNumber } from "./prisma-signed-templates.ts";

const newAccount = () => ({
  accountId: uuidv7(clock),
  chainName: "flow-emulator",
  address: "01cf0e2f2f715450",
  serverKeyIndex: 0,
});
const SESSION = uuidv7(clock);
const ANY = { sessionId: SESSION, limit: 1000, openSince: new Date(0), unfrozenAt: undefined };
/** Returns the store with what the effects of a signature write. */
const storeOf = (replica: PrismaClient) => ({
  ...prismaSignedTemplates(replica),
  record: (
    account: ReturnType<typeof newAccount>,
    number: bigint,
    now: Date,
    open: Omit<SequenceNumberUse, "number">,
  ): Promise<boolean> =>
    replica.$transaction(async (tx) => {
      await lockAccount(queriesIn(tx), account.accountId);
      return recordSequenceNumber(tx, account, { number, ...open }, now);
    }),
});

it("numbers are known by account, chain and key, until they are long past", async () => {
  const account = newAccount();
  const store = storeOf(prisma);
  const [before, now] = [clock.now(), new Date(clock.now().getTime() + 1_000)];
  await store.record(account, 3n, before, ANY);
  await store.record(account, 4n, before, ANY);
  await store.record(account, 4n, now, ANY);
  for (const number of [3n, 4n]) expect(await store.has(account, number)).toBe(true);
  expect(await store.has(account, 5n)).toBe(false);
  expect(await store.has({ ...account, serverKeyIndex: 3 }, 3n)).toBe(false);
  expect(await store.has({ ...account, chainName: "other" }, 3n)).toBe(false);
  await deleteExpiredRows(postgres)(new Date(now.getTime() + 7 * 24 * 3_600_000));
  expect([await store.has(account, 3n), await store.has(account, 4n)]).toEqual([false, true]);
});

it("a number that no account ever reaches is none", async () => {
  const account = newAccount();
  const store = storeOf(prisma);
  await store.record(account, 2n ** 64n - 1n, clock.now(), ANY);
  expect(await store.has(account, 2n ** 64n - 1n)).toBe(false);
});

it("many at once, on several replicas, never pass the most that may be open", async () => {
  const account = newAccount();
  const open = { ...ANY, limit: 16, openSince: new Date(clock.now().getTime() - 60_000) };
  const noted = await Promise.all(
    Array.from({ length: 60 }, (_, i) => storeOf(replicas[i % 2]!).record(account, BigInt(i % 30), clock.now(), open)),
  );
  const rows = await prisma.signedTemplate.findMany({ where: { accountId: account.accountId } });
  expect(rows).toHaveLength(16);
  // Both requests of a number that is open were signed, and none of another.
  const kept = new Set(rows.map(({ number }) => Number(number)));
  expect(noted).toEqual(noted.map((_, i) => kept.has(i % 30)));
});

it("open templates of one session take nothing from another; a number is open for its last signer's session", async () => {
  const account = newAccount();
  const store = storeOf(prisma);
  const [thief, owner] = [uuidv7(clock), uuidv7(clock)].map(
    (sessionId) => (number: bigint) => store.record(account, number, clock.now(), { ...ANY, sessionId, limit: 2 }),
  );
  // Of a replica from before sessions were kept: nobody's.
  await prisma.$executeRaw`INSERT INTO signed_template (account_id, chain_name, key_index, number, signed_at)
    VALUES (${account.accountId}::uuid, ${account.chainName}, 0, 1, ${clock.now()})`;
  expect([await thief!(100n), await thief!(101n), await thief!(102n)]).toEqual([true, true, false]);
  expect([await owner!(3n), await owner!(100n), await owner!(4n)]).toEqual([true, true, false]);
  expect([await thief!(103n), await thief!(104n), await thief!(3n)]).toEqual([true, false, false]);
  for (const number of [1n, 3n, 100n, 101n, 103n]) expect(await store.has(account, number)).toBe(true);
  await prisma.signedTemplate.deleteMany({ where: { accountId: account.accountId } });
});

it("a template that executed, or is too old to execute, is not open any more", async () => {
  const account = newAccount();
  const store = storeOf(prisma);
  const note = (number: bigint, now = clock.now()) =>
    store.record(account, number, now, { ...ANY, limit: 2, openSince: new Date(now.getTime() - 60_000) });
  const settled = (proposal: string, settledAt: Date | null, chainName = account.chainName) =>
    prisma.budgetReservation.create({
      data: {
        ...{
          chainName,
          proposal,
          referenceBlock: "",
          computation: 1,
          fees: 1,
          budgets: [],
          settledAt,
        },
        ...{ addedCount: 1, addedComputation: 1, addedFees: 1 },
      },
    });
  expect([await note(3n), await note(4n), await note(5n), await note(4n)]).toEqual([true, true, false, true]);
  expect(await store.has(account, 5n)).toBe(false);
  await settled(`${account.address}/0/4`, null);
  await settled(`${account.address}/1/3`, clock.now());
  await settled(`${account.address}/0/3`, clock.now(), "elsewhere");
  await settled("e03daebed8ca0615/0/3", clock.now());
  expect(await note(5n)).toBe(false);
  await settled(`${account.address}/0/3`, clock.now());
  expect([await note(5n), await note(6n)]).toEqual([true, false]);
  const noteAt = (elsewhere: Partial<typeof account>, number: bigint) =>
    store.record({ ...account, ...elsewhere }, number, clock.now(), { ...ANY, limit: 1 });
  for (const elsewhere of [{ serverKeyIndex: 3 }, { chainName: "elsewhere" }])
    expect(await noteAt(elsewhere, 6n)).toBe(true);
  await settled(`${account.address}/0/6`, clock.now());
  expect(await noteAt({ serverKeyIndex: 3 }, 7n)).toBe(false);
  await settled(`${account.address}/3/6`, clock.now());
  expect(await noteAt({ serverKeyIndex: 3 }, 7n)).toBe(true);
  expect(await note(6n, new Date(clock.now().getTime() + 60_000))).toBe(true);
});

it("the later numbers of before a freeze are known on every replica, also once they are signed for again", async () => {
  const account = newAccount();
  const [one, other] = [storeOf(replicas[0]), storeOf(replicas[1])];
  const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000);
  const freeze = { since: at(-1), unfrozenAt: at(100) };
  const keptAt = (number: bigint, change: Partial<typeof freeze> = {}) =>
    other.laterKeptAt(account, number, { ...freeze, ...change });
  await one.record(account, 5n, at(0), ANY);
  await one.record(account, 7n, at(50), ANY);
  // A replica whose clock is behind.
  await other.record(account, 7n, at(40), ANY);
  await one.record(account, 9n, at(101), ANY);
  expect([await keptAt(3n), await keptAt(5n), await keptAt(7n)]).toEqual([at(50), at(50), undefined]);
  expect(await keptAt(3n, { since: at(50) })).toBeUndefined();
  expect(await keptAt(3n, { unfrozenAt: at(0) })).toEqual(at(0));
  expect(await keptAt(2n ** 64n - 1n)).toBeUndefined();
  await one.record(account, 7n, at(150), { ...ANY, unfrozenAt: freeze.unfrozenAt });
  await one.record(account, 7n, at(160), { ...ANY, unfrozenAt: freeze.unfrozenAt });
  expect(await keptAt(3n)).toEqual(at(50));
  // Signed in the last moment of before the freeze ended.
  for (const seconds of [100, 150])
    await one.record(account, 11n, at(seconds), { ...ANY, unfrozenAt: freeze.unfrozenAt });
  expect(await keptAt(9n)).toEqual(at(100));
  for (const elsewhere of [{ serverKeyIndex: 1 }, { chainName: "elsewhere" }, { accountId: uuidv7(clock) }]) {
    expect(await other.laterKeptAt({ ...account, ...elsewhere }, 3n, freeze)).toBeUndefined();
  }
});
