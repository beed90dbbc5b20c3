import { setTimeout as sleep } from "node:timers/promises";
import { uuidv7 } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { openFeesWindow, type Reservation, windowsAt } from "../budget/budget.ts";
import { NODE_LAG_BLOCKS, REFERENCE_EXPIRY_BLOCKS, settleReservations } from "../domain/settle-reservations.ts";
import { type ChainPolicy, referenceSeconds } from "../policy/chain.ts";
import { auditEntry } from "../testing/audit-fixture.ts";
import { clock, databases, FEES, newLog, replicas } from "../testing/store-fixture.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import type { PrismaClient } from "./generated/client.ts";
import { commonBudgetUse } from "./postgres-budget-usage.ts";
import { prismaSettlementStore } from "./prisma-settlement-store.ts";

const EXPIRED = REFERENCE_EXPIRY_BLOCKS + NODE_LAG_BLOCKS;
const settlerOf = (
  prisma: PrismaClient,
  onUnderestimated: (count: number) => void = () => undefined,
  { referenceSeconds = 0, inclusion = 0 }: Believing = {},
) =>
  settleReservations({
    reservations: prismaSettlementStore(prisma),
    clock,
    chain: () => ({ referenceSeconds }) as ChainPolicy,
    inclusionFees: () => inclusion,
    onUnderestimated,
  });

interface Believing {
  referenceSeconds?: number;
  inclusion?: number;
}

/**
 * A chain of its own for each test: one account on it, with a budget for so many transactions at their full
 * price.
 */
let chains = 0;
function newWorld(limit = 2, believing: Believing = {}, openLimit = 1_000_000) {
  const chainName = `chain-${chains++}`;
  const accountId = uuidv7(clock);
  const [one] = replicas;
  const logs = databases.map(newLog);
  const rule = (fees?: number) => [{ windowSeconds: 3600, count: undefined, computation: undefined, fees }];
  const reservation = (sequence: number, change: Partial<Reservation> = {}): Reservation => ({
    chainName,
    proposal: `aa/1/${sequence}`,
    referenceBlock: "block 1",
    amounts: { count: 1, computation: 999, fees: FEES },
    windows: [
      ...windowsAt("account", accountId, rule(limit * FEES), clock.now()),
      ...windowsAt("service", "all", rule(), clock.now()),
      openFeesWindow(accountId, openLimit * FEES),
    ],
    ...change,
  });
  const sign = (sequence: number, change: Partial<Reservation> = {}, replica = 0) =>
    logs[replica]!.append(auditEntry({ accountId, time: clock.now() }), reservation(sequence, change)).then(
      () => "signed",
      (error) => error.metadata?.reason ?? String(error),
    );
  const report = async (
    change: { executed?: number[]; sealedHeight?: bigint; latestHeight?: bigint; took?: number } = {},
    prisma = one,
  ) => {
    const { executed = [], took = 100, sealedHeight = 10n, latestHeight = sealedHeight } = change;
    // A mark has whole milliseconds: what was reserved in the one that has just begun is after it, and left
    // for the next report.
    await prisma.$queryRaw`SELECT pg_sleep(0.001)::text`;
    const { mark } = await prismaSettlementStore(prisma).begin(chainName);
    const reported = executed.map((sequence) => ({ proposal: `aa/1/${sequence}`, computation: took, fees: took }));
    return settlerOf(prisma, undefined, believing)({ chainName, mark, sealedHeight, latestHeight, executed: reported });
  };
  const used = async () => {
    const where = { chainName, NOT: { budget: { startsWith: "open/" } } };
    const rows = await one.budgetUsage.findMany({ where, orderBy: { budget: "asc" } });
    const [ofAccount, ofService] = rows.map(({ count, computation, fees }) => [count, computation, fees].map(Number));
    expect(ofService).toEqual(ofAccount);
    return ofAccount;
  };
  const openFees = async () => {
    const row = await one.budgetUsage.findFirst({ where: { chainName, budget: { startsWith: "open/" } } });
    return row && Number(row.fees);
  };
  return { chainName, sign, report, used, openFees, reservation };
}

describe("settling reservations", { timeout: 60_000 }, () => {
  it("lowers to what the chain took, once, and its budget is free again", async () => {
    const { sign, report, used } = newWorld();
    expect([await sign(1), await sign(2), await sign(3)]).toEqual(["signed", "signed", "BudgetExceeded"]);
    expect(await report({ executed: [1] })).toEqual({ settled: 1, released: 0 });
    expect(await used()).toEqual([2, 1099, FEES + 100]);
    for (const replica of replicas)
      expect(await report({ executed: [1, 99] }, replica)).toEqual({ settled: 0, released: 0 });
    expect(await used()).toEqual([2, 1099, FEES + 100]);
    await report({ executed: [2] });
    expect([await sign(4), await sign(5)]).toEqual(["signed", "BudgetExceeded"]);
  });

  it("a retry of what was executed takes nothing", async () => {
    const { sign, report, used } = newWorld(1);
    await sign(1, { amounts: { count: 1, computation: 0, fees: 0 } });
    await sign(1);
    await report({ executed: [1] });
    expect(await sign(1)).toBe("signed");
    expect(await sign(1, { amounts: { count: 1, computation: 0, fees: 0 } }, 1)).toBe("signed");
    expect(await used()).toEqual([1, 100, 100]);
    // With another block it is a new one, of its own amounts.
    await sign(1, { amounts: { count: 1, computation: 2, fees: 3 }, referenceBlock: "block 2" });
    expect(await used()).toEqual([2, 102, 103]);
  });

  it("a transaction falsely reported as executed is charged in full when it is signed again", async () => {
    const { chainName, sign, report, used } = newWorld(4);
    const cheap = { count: 1, computation: 1, fees: 1 };
    await sign(1, { amounts: cheap });
    await report({ executed: [1], took: 1 });
    // A transaction of another size under the same number, then with another block.
    expect(await sign(1)).toBe("signed");
    expect(await used()).toEqual([2, 1000, FEES + 1]);
    expect(await report({ executed: [1], took: 1 })).toEqual({ settled: 1, released: 0 });
    expect(await used()).toEqual([2, 2, 2]);
    expect(await sign(1, { referenceBlock: "block 2" }, 1)).toBe("signed");
    expect(await used()).toEqual([3, 1001, FEES + 2]);
    const row = await replicas[0].budgetReservation.findFirstOrThrow({ where: { chainName } });
    expect(row).toMatchObject({ settledAt: null, seenHeight: null, referenceBlock: "block 2" });
    // Growth from then on is growth.
    await sign(1, { referenceBlock: "block 2", amounts: { count: 1, computation: 1000, fees: FEES } });
    expect(await used()).toEqual([3, 1002, FEES + 2]);
  });

  it("also where the budget is nearly full and the batch is judged one by one", async () => {
    const { sign, report, used } = newWorld(1);
    await sign(1, { amounts: { count: 1, computation: 1, fees: 1 } });
    await report({ executed: [1], took: 1 });
    expect(await sign(1)).toBe("BudgetExceeded");
    expect(await used()).toEqual([1, 1, 1]);
    // A retry beside it in one batch hides nothing.
    const retry = { amounts: { count: 1, computation: 1, fees: 1 } };
    const both = [sign(1, { referenceBlock: "block 2" }), sign(1, retry)];
    expect(await Promise.all(both)).toEqual(["BudgetExceeded", "BudgetExceeded"]);
    expect(await sign(1, retry)).toBe("signed");
    expect(await used()).toEqual([1, 1, 1]);
  });

  it("a creation is never settled by any report: its accounts stay counted, and more of them count", async () => {
    const { chainName, sign, report, used } = newWorld();
    const creation = (count: number, referenceBlock: string) => ({
      referenceBlock,
      amounts: { count, computation: 0, fees: 0 },
    });
    await sign(1, creation(1, "block 1"));
    expect(await report({ executed: [1] })).toEqual({ settled: 0, released: 0 });
    expect(await sign(1, creation(10, "block 2"))).toBe("signed");
    expect(await used()).toEqual([10, 0, 0]);
    // Nor would it help: what was settled before counts in full.
    await replicas[0].budgetReservation.updateMany({ where: { chainName }, data: { settledAt: clock.now() } });
    expect(await sign(1, creation(10, "block 3"))).toBe("signed");
    expect(await used()).toEqual([20, 0, 0]);
  });

  it("never takes more than was reserved, and counts the difference", async () => {
    const { chainName, sign, used } = newWorld(1);
    await sign(1);
    let reported = 0;
    const settle = settlerOf(replicas[0], (count) => {
      reported += count;
    });
    const executed = [{ proposal: "aa/1/1", computation: 1_000, fees: 9 * FEES }];
    await settle({ chainName, mark: new Date(), latestHeight: 1n, sealedHeight: 1n, executed });
    expect(reported).toBe(1);
    expect(await used()).toEqual([1, 999, FEES]);
  });

  it("releases only what the sealed height has passed the expiry of, and what comes after that finds nothing", async () => {
    const { sign, report, used } = newWorld(1);
    await sign(1);
    expect(await report({ sealedHeight: 1_000_000n, latestHeight: 1_000_010n })).toEqual({ settled: 0, released: 0 });
    const last = 1_000_010n + EXPIRED;
    expect(await report({ sealedHeight: last })).toEqual({ settled: 0, released: 0 });
    expect(await sign(2)).toBe("BudgetExceeded");
    expect(await report({ sealedHeight: last + 1n })).toEqual({ settled: 0, released: 1 });
    expect(await used()).toEqual([1, 0, 0]);
    expect(await report({ executed: [1], sealedHeight: last + 2n })).toEqual({ settled: 0, released: 0 });
    expect(await used()).toEqual([1, 0, 0]);
    expect(await sign(2)).toBe("signed");
  });

  it("a reservation that executed in the stretch in which it would lapse is settled, not released", async () => {
    const { sign, report, used } = newWorld();
    await sign(1);
    await report({ sealedHeight: 10n });
    expect(await report({ executed: [1], sealedHeight: 11n + EXPIRED })).toEqual({ settled: 1, released: 0 });
    expect(await used()).toEqual([1, 100, 100]);
  });

  it("a newer reference block begins the wait again; the same one does not", async () => {
    const { sign, report, used } = newWorld();
    await sign(1);
    await report({ sealedHeight: 10n });
    await sign(1, { referenceBlock: "block 2" });
    expect(await report({ sealedHeight: 11n + EXPIRED })).toEqual({ settled: 0, released: 0 });
    await sign(1, { referenceBlock: "block 2" });
    expect(await report({ sealedHeight: 12n + 2n * EXPIRED })).toEqual({ settled: 0, released: 1 });
    expect(await used()).toEqual([1, 0, 0]);
    expect(await sign(1)).toBe("signed");
    expect(await used()).toEqual([2, 999, FEES]);
  });

  it("an account service that is broken into frees nothing with made-up heights before its time", async () => {
    const { chainName, sign, report, used } = newWorld(1, { referenceSeconds: 600 });
    const passed = (seconds: number) =>
      replicas[0]
        .$executeRaw`UPDATE budget_reservation SET renewed_at = renewed_at - make_interval(secs => ${seconds}::double precision)
        WHERE chain_name = ${chainName}`;
    const lie = () => report({ sealedHeight: 2n ** 53n - 1n, latestHeight: 2n ** 53n - 1n });
    const claim = () => report({ sealedHeight: 1n });
    await sign(1);
    await claim();
    expect(await lie()).toEqual({ settled: 0, released: 0 });
    await passed(590);
    await claim();
    expect(await lie()).toEqual({ settled: 0, released: 0 });
    expect(await sign(2)).toBe("BudgetExceeded");
    // With a newer reference block it is good for as long again.
    await sign(1, { referenceBlock: "block 2" });
    await claim();
    await passed(590);
    expect(await lie()).toEqual({ settled: 0, released: 0 });
    await passed(11);
    expect(await lie()).toEqual({ settled: 0, released: 1 });
    expect(await used()).toEqual([1, 0, 0]);
    // Where the operator says nothing, a quarter of an hour.
    expect(referenceSeconds({} as ChainPolicy)).toBe(900);
  });

  it("a reported execution costs at least an inclusion, and nothing of its count comes back", async () => {
    const { sign, report, used } = newWorld(2, { inclusion: 10_000 });
    await sign(1);
    expect(await report({ executed: [1], took: 0 })).toEqual({ settled: 1, released: 0 });
    expect(await used()).toEqual([1, 1, 10_000]);
    // Never more than was reserved: a server key's signature alone costs nothing.
    await sign(2, { amounts: { count: 1, computation: 0, fees: 0 } });
    await report({ executed: [2], took: 0 });
    expect(await used()).toEqual([2, 1, 10_000]);
  });

  it("knows whether anything waits: a server key's signature alone does not", async () => {
    const { chainName, sign, report } = newWorld();
    const open = async () => (await prismaSettlementStore(replicas[1]).begin(chainName)).open;
    await sign(1, { amounts: { count: 1, computation: 0, fees: 0 } });
    expect(await open()).toBe(false);
    await sign(1);
    expect(await open()).toBe(true);
    await report({ executed: [1] });
    expect(await open()).toBe(false);
  });

  it("a reservation that was made after the mark of a report waits for the next one", async () => {
    const { chainName, sign, report } = newWorld();
    const { mark } = await prismaSettlementStore(replicas[0]).begin(chainName);
    await sign(1);
    const settlement = { chainName, mark, latestHeight: 10n, sealedHeight: 10n, executed: [] };
    await settlerOf(replicas[0])(settlement);
    expect(await report({ sealedHeight: 11n + EXPIRED })).toEqual({ settled: 0, released: 0 });
    expect(await report({ sealedHeight: 12n + 2n * EXPIRED })).toEqual({ settled: 0, released: 1 });
  });

  it("another chain's reservations and windows of the same names are left alone", async () => {
    const [one, other] = [newWorld(), newWorld()];
    const { windows } = one.reservation(1);
    for (const sequence of [1, 2]) {
      await one.sign(sequence);
      await other.sign(sequence, { windows });
    }
    const reserved = [2, 1998, 2 * FEES];
    await one.report({ executed: [1] });
    expect(await one.report({ sealedHeight: 11n + EXPIRED })).toEqual({ settled: 0, released: 1 });
    expect([await other.used(), await other.openFees()]).toEqual([reserved, 2 * FEES]);
    expect(await other.report({ sealedHeight: 11n + EXPIRED })).toEqual({ settled: 0, released: 0 });
    expect(await other.report({ executed: [1, 2] })).toEqual({ settled: 2, released: 0 });
  });

  it("while a report holds a reservation, a retry of the very same waits for nobody; another block waits, and counts on top", async () => {
    const { chainName, sign, used } = newWorld();
    await sign(1);
    let again: Promise<string> | undefined;
    await replicas[1].$transaction(async (tx) => {
      await tx.budgetReservation.updateMany({ where: { chainName }, data: { settledAt: clock.now() } });
      expect(await sign(1)).toBe("signed");
      again = sign(1, { referenceBlock: "block 2" });
      expect(await Promise.race([again, sleep(300).then(() => "waits")])).toBe("waits");
    });
    expect(await again).toBe("signed");
    expect(await used()).toEqual([2, 1998, 2 * FEES]);
  });

  it("an account's open fees are bounded, also in an empty budget, and come back whole when transactions execute or expire", async () => {
    const { sign, report, used, openFees } = newWorld(100, {}, 2);
    expect([await sign(1), await sign(2), await sign(3, {}, 1)]).toEqual(["signed", "signed", "BudgetExceeded"]);
    // The same again is free, with a newer reference block as well; one more transaction is not.
    expect([await sign(2), await sign(2, { referenceBlock: "block 2" })]).toEqual(["signed", "signed"]);
    expect(await sign(3)).toBe("BudgetExceeded");
    expect(await openFees()).toBe(2 * FEES);
    await report({ executed: [1] });
    expect(await openFees()).toBe(FEES);
    expect(await used()).toEqual([2, 999 + 100, FEES + 100]);
    expect([await sign(3), await sign(4)]).toEqual(["signed", "BudgetExceeded"]);
    await report({ sealedHeight: 10n });
    await report({ sealedHeight: 11n + EXPIRED });
    expect(await openFees()).toBeNull();
    expect([await sign(4), await sign(5), await sign(6)]).toEqual(["signed", "signed", "BudgetExceeded"]);
  });

  it("fees that are reserved under several signatures of one transaction are open once, in any order", async () => {
    const { sign, report, openFees } = newWorld(100, {}, 2);
    const byServerKey = { amounts: { count: 1, computation: 0, fees: 0 } };
    await sign(1, byServerKey);
    expect(await openFees()).toBeNull();
    await sign(1);
    await sign(1, { ...byServerKey, referenceBlock: "block 2" });
    await Promise.all([sign(2, byServerKey), sign(2)]);
    expect(await openFees()).toBe(2 * FEES);
    await report({ executed: [1, 2] });
    expect(await openFees()).toBeNull();
    // Signed again after it executed, it is open again.
    await sign(1, { referenceBlock: "block 3" });
    expect(await openFees()).toBe(FEES);
  });

  it("many transactions of one account at once, at two replicas, never pass the limit of open fees", async () => {
    const { sign, openFees } = newWorld(1_000, {}, 10);
    const verdicts = await Promise.all(Array.from({ length: 60 }, (_, i) => sign(i, {}, i % 2)));
    expect(verdicts.filter((verdict) => verdict === "signed")).toHaveLength(10);
    expect(await openFees()).toBe(10 * FEES);
  });

  it("signatures, reports and releases at once leave exact books, and nobody waits for ever", async () => {
    const { chainName, sign, report, used, openFees } = newWorld(1_000);
    await report();
    let taken = 0;
    const reporting = replicas.map(async (replica, r) => {
      for (let round = 0; round < 25; round++) {
        const executed = Array.from({ length: 40 }, (_, i) => (round * 17 + i * 3 + r) % 300);
        const { settled } = await report({ executed, sealedHeight: BigInt(round) * (EXPIRED + 1n) }, replica);
        taken += 100 * settled;
      }
    });
    const signing = Array.from({ length: 900 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, (i * 7) % 300));
      return sign((i * 31) % 300, { referenceBlock: `block ${i % 3}` }, i % 2);
    });
    expect(new Set(await Promise.all(signing))).toEqual(new Set(["signed"]));
    await Promise.all(reporting);
    const open = await replicas[0].budgetReservation.findMany({ where: { chainName, settledAt: null } });
    const sum = (key: "computation" | "fees") => open.reduce((total, row) => total + Number(row[key]), taken);
    // All in one window: what the chain took of each that was settled, and what is reserved of those that
    // wait.
    expect((await used())!.slice(1)).toEqual([sum("computation"), sum("fees")]);
    expect((await openFees()) ?? 0).toBe(sum("fees") - taken);
  });

  it("keeps what waits, and forgets what is over", async () => {
    const { chainName, sign, report, openFees } = newWorld();
    await sign(1);
    await sign(2);
    await report({ executed: [1] });
    const forget = () => deleteExpiredRows(databases[0])(new Date(Date.now() + 25 * 3_600_000));
    await forget();
    const left = await replicas[0].budgetReservation.findMany({ where: { chainName } });
    expect(left.map(({ proposal }) => proposal)).toEqual(["aa/1/2"]);
    expect(await openFees()).toBe(FEES);
    await report({ executed: [2] });
    await forget();
    expect(await openFees()).toBeNull();
    const use = await commonBudgetUse(databases[0], new Date(0));
    expect(use.every(({ windowId }) => windowId.startsWith("service/"))).toBe(true);
  });
});
