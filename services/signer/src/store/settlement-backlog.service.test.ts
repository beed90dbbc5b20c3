import { randomUUID } from "node:crypto";
import { sql } from "@countersign/postgres";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { settleReservations } from "../domain/settle-reservations.ts";
import type { ChainPolicy } from "../policy/chain.ts";
import { clock, postgres, prisma, replicas } from "../testing/store-fixture.ts";
import { prismaSettlementStore } from "./prisma-settlement-store.ts";

/** So many wait after an outage, for a store whose statements and transactions take ten. */
const COUNT = 25;
const stores = () =>
  replicas.map((each) => prismaSettlementStore(each, { perTransaction: 10, perStatement: 10, sliceMs: 0 }));
const executed = Array.from({ length: COUNT }, (_, n) => ({ proposal: `aa/1/${n + 1}`, computation: 100, fees: 1 }));
const FLOOR = { computation: 1, fees: 1 };

let chainName: string;
beforeAll(async () => {
  // In place of the time limit of statements.
  await postgres.execute(sql`
    CREATE FUNCTION refuse_many() RETURNS TRIGGER LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM changed) > 10 THEN RAISE EXCEPTION 'more than ten rows in one statement'; END IF;
      RETURN NULL;
    END $$`);
  await postgres.execute(sql`
    CREATE TRIGGER update_of_many AFTER UPDATE ON budget_reservation REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_many()`);
});
beforeEach(async () => {
  chainName = randomUUID();
  await postgres.execute(sql`
    INSERT INTO budget_reservation (chain_name, proposal, reference_block, count, computation, fees, budgets,
      added_count, added_computation, added_fees, renewed_at)
    SELECT ${chainName}, 'aa/1/' || n, 'block 1', 1, 999, 9, ARRAY['service/all/3600/1'], 1, 999, 9,
      now() - interval '1 hour'
    FROM generate_series(1, ${COUNT}::int) AS n`);
  await postgres.execute(sql`
    INSERT INTO budget_usage (chain_name, budget, ends_at, count, computation, fees)
    VALUES (${chainName}, 'service/all/3600/1', now(), ${COUNT}, ${COUNT * 999}, ${COUNT * 9})`);
});
const used = async () => {
  const { count, computation, fees } = await prisma.budgetUsage.findFirstOrThrow({ where: { chainName } });
  return [count, computation, fees].map(Number);
};

it("after an outage all reservations get a height, each the one of its call", async () => {
  const [store] = stores();
  const { mark } = await store!.begin(chainName);
  for (const height of [10n, 11n, 12n, 13n]) await store!.see(chainName, mark, height);
  const rows = await prisma.budgetReservation.groupBy({
    by: ["seenHeight"],
    where: { chainName },
    orderBy: { seenHeight: "asc" },
    _count: true,
  });
  expect(rows.map(({ seenHeight, _count }) => [seenHeight, _count])).toEqual([
    [10n, 10],
    [11n, 10],
    [12n, 5],
  ]);
});

it("in the time that it has, one call gives all of them a height", async () => {
  const store = prismaSettlementStore(prisma, { perStatement: 10 });
  await store.see(chainName, (await store.begin(chainName)).mark, 10n);
  expect(await prisma.budgetReservation.count({ where: { chainName, seenHeight: 10n } })).toBe(COUNT);
});

it("a long report is settled over several calls, each once, and nothing is released before", async () => {
  await postgres.execute(sql`UPDATE budget_reservation SET seen_height = 1 WHERE proposal = 'aa/1/25'`);
  const settle = settleReservations({
    reservations: stores()[0]!,
    clock,
    chain: () => ({ referenceSeconds: 0 }) as ChainPolicy,
    inclusionFees: () => 1,
    onUnderestimated: () => undefined,
  });
  const mark = new Date(0);
  const report = () =>
    settle({ chainName, mark, latestHeight: 5_000n, sealedHeight: 5_000n, executed: executed.slice(0, 24) });
  await expect(report()).rejects.toMatchObject({ reason: "Unavailable" });
  expect(await used()).toEqual([25, 10 * 100 + 15 * 999, 10 + 15 * 9]);
  await expect(report()).rejects.toMatchObject({ reason: "Unavailable" });
  expect(await report()).toEqual({ settled: 4, released: 1 });
  expect(await used()).toEqual([25, 24 * 100, 24]);
  expect(await report()).toEqual({ settled: 0, released: 0 });
  expect(await used()).toEqual([25, 24 * 100, 24]);
});

it("transactions that used more than was reserved are counted over several calls", async () => {
  const counts: number[] = [];
  const settle = settleReservations({
    reservations: stores()[0]!,
    clock,
    chain: () => ({ referenceSeconds: 0 }) as ChainPolicy,
    inclusionFees: () => 1,
    onUnderestimated: (count) => void counts.push(count),
  });
  const more = executed.map((each) => ({ ...each, computation: 1_000 }));
  const report = () =>
    settle({ chainName, mark: new Date(0), latestHeight: 1n, sealedHeight: 1n, executed: more }).catch(() => undefined);
  for (let call = 0; call < 4; call += 1) await report();
  expect(counts).toEqual([10, 10, 5]);
});

it("two replicas that get the same report at once settle each transaction once", async () => {
  const unhurried = replicas.map((each) => prismaSettlementStore(each, { perTransaction: 10 }));
  const results = await Promise.all(unhurried.map((store) => store.settle(chainName, executed, FLOOR, clock.now())));
  expect(results.reduce((sum, { settled }) => sum + settled, 0)).toBe(COUNT);
  expect(await used()).toEqual([25, 25 * 100, 25]);
});

it("lapsed reservations are released over several calls, whose number is bounded", async () => {
  const [store] = stores();
  const { mark } = await store!.begin(chainName);
  for (let call = 0; call < 3; call += 1) await store!.see(chainName, mark, 1n);
  const released = [];
  for (let call = 0; call < 4; call += 1) released.push(await store!.release(chainName, 2n, 900));
  expect(released).toEqual([10, 10, 5, 0]);
  expect(await used()).toEqual([25, 0, 0]);
});
