import { uuidv7 } from "@countersign/core";
import { describe, expect, it } from "vitest";
import { chainRecords, genesisHash } from "../audit/record.ts";
import { type Reservation, windowsAt } from "../budget/budget.ts";
import { auditEntry, newWriter, signedBatch } from "../testing/audit-fixture.ts";
import { clock, databases, FEES, newLog, postgres, prisma } from "../testing/store-fixture.ts";
import { storedRecords } from "../testing/stored-records.ts";
import { postgresAuditStore } from "./postgres-audit-store.ts";

const entry = (accountId: string) => auditEntry({ accountId, time: clock.now() });

let sequences = 0;
/** Returns a transaction of an account; service and app allow all of them. */
function reservation(
  accountId: string,
  change: Partial<Reservation> = {},
  limits = { count: 10, fees: 10 * FEES },
): Reservation {
  const rule = (windowSeconds: number, { count, fees }: { count?: number; fees?: number } = {}) => [
    { windowSeconds, count, computation: undefined, fees },
  ];
  return {
    chainName: "c",
    proposal: `aa/1/${sequences++}`,
    referenceBlock: "block 1",
    amounts: { count: 1, computation: 999, fees: FEES },
    windows: [
      ...windowsAt("account", accountId, rule(3600, limits), clock.now()),
      ...windowsAt("app", "demo", rule(60), clock.now()),
      ...windowsAt("service", "all", rule(86_400), clock.now()),
    ],
    ...change,
  };
}

const verdictOf = (work: Promise<unknown>) =>
  work.then(
    () => "signed",
    (error) => error.metadata?.reason ?? error.reason ?? String(error),
  );
const recordsOf = async (accountId: string) =>
  (await storedRecords(prisma)).filter((record) => record.accountId === accountId);

async function usedOf(accountId: string) {
  const where = { chainName: "c", budget: { startsWith: `account/${accountId}/` } };
  const rows = await prisma.budgetUsage.findMany({ where, orderBy: { endsAt: "asc" } });
  return rows.map(({ count, computation, fees }) => ({
    count: Number(count),
    computation: Number(computation),
    fees: Number(fees),
  }));
}

describe("budgets over two replicas", { timeout: 60_000 }, () => {
  it("many at once never pass a limit, and what is refused is recorded and takes nothing", async () => {
    const accountId = uuidv7(clock);
    const logs = databases.map(newLog);
    const asked = Array.from({ length: 120 }, (_, i) =>
      verdictOf(logs[i % 2]!.append(entry(accountId), reservation(accountId))),
    );
    const verdicts = await Promise.all(asked);
    expect(verdicts.filter((verdict) => verdict === "signed")).toHaveLength(10);
    expect(verdicts.filter((verdict) => verdict === "BudgetExceeded")).toHaveLength(110);
    expect(await usedOf(accountId)).toEqual([{ count: 10, computation: 9990, fees: 10 * FEES }]);
    const recorded = (await recordsOf(accountId)).map(({ verdict }) => verdict);
    expect(recorded.filter((verdict) => verdict === "signed")).toHaveLength(10);
    expect(recorded.filter((verdict) => verdict === "BudgetExceeded")).toHaveLength(110);
    expect(await prisma.budgetReservation.count({ where: { budgets: { isEmpty: true } } })).toBe(0);
  });

  it("several accounts with budgets of their own, in any order, share the app's", async () => {
    const accounts = Array.from({ length: 8 }, () => uuidv7(clock));
    const logs = [...databases, ...databases].map(newLog);
    const asked = Array.from({ length: 320 }, (_, i) => {
      const accountId = accounts[(i * 5) % 8]!;
      return verdictOf(logs[i % 4]!.append(entry(accountId), reservation(accountId)));
    });
    const verdicts = await Promise.all(asked);
    expect(new Set(verdicts)).toEqual(new Set(["signed", "BudgetExceeded"]));
    expect(verdicts.filter((verdict) => verdict === "signed")).toHaveLength(80);
    for (const accountId of accounts) expect(await usedOf(accountId)).toMatchObject([{ count: 10 }]);
  });

  it("the service's budget is exact over four replicas, and its row is locked once per batch, not per signature", async () => {
    let batches = 0;
    const counting = (replica: (typeof databases)[0]): typeof replica => ({
      ...replica,
      query: (statement) => {
        batches += 1;
        return replica.query(statement);
      },
    });
    const limit = [{ windowSeconds: 3600, count: 1_000, computation: undefined, fees: undefined }];
    const windows = windowsAt("service", "exact", limit, clock.now());
    const logs = [...databases, ...databases].map(counting).map(newLog);
    const sign = async (count: number) => {
      const asked = Array.from({ length: count }, (_, i) => {
        const accountId = uuidv7(clock);
        return verdictOf(logs[i % 4]!.append(entry(accountId), reservation(accountId, { windows })));
      });
      return (await Promise.all(asked)).filter((verdict) => verdict === "signed").length;
    };
    expect(await sign(800)).toBe(800);
    // 200 of each replica in batches of up to 64; the statement of a batch locks each row once.
    expect(batches).toBeLessThanOrEqual(4 * 5);
    expect(await sign(400)).toBe(200);
    const [row] = await prisma.budgetUsage.findMany({ where: { budget: windows[0]!.id } });
    expect(Number(row?.count)).toBe(1_000);
  });

  it("one transaction reserves once: authorizer, paymaster, retries, on both replicas, also when the budget is full", async () => {
    const accountId = uuidv7(clock);
    const logs = databases.map(newLog);
    const one = { count: 1, fees: FEES };
    const paid = reservation(accountId, {}, one);
    const authorized = { ...paid, amounts: { count: 1, computation: 0, fees: 0 } };
    await logs[0]!.append(entry(accountId), authorized);
    expect(await usedOf(accountId)).toEqual([{ count: 1, computation: 0, fees: 0 }]);
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => logs[i % 2]!.append(entry(accountId), i % 3 ? paid : authorized)),
    );
    expect(await usedOf(accountId)).toEqual([{ count: 1, computation: 999, fees: FEES }]);
    expect(await verdictOf(logs[1]!.append(entry(accountId), reservation(accountId, {}, one)))).toBe("BudgetExceeded");
    expect(await verdictOf(logs[1]!.append(entry(accountId), paid))).toBe("signed");
    const higher = { ...paid, amounts: { count: 1, computation: 1000, fees: FEES + 1 } };
    expect(await verdictOf(logs[1]!.append(entry(accountId), higher))).toBe("BudgetExceeded");
    expect(await usedOf(accountId)).toEqual([{ count: 1, computation: 999, fees: FEES }]);
  });

  it("a transaction that is kept alive with newer reference blocks counts in each new window", async () => {
    const accountId = uuidv7(clock);
    const log = newLog(postgres);
    const first = reservation(accountId);
    await log.append(entry(accountId), first);
    // Windows have the same ids on every chain.
    await log.append(entry(accountId), { ...first, chainName: "d" });
    clock.advance(3600_000);
    const { windows } = reservation(accountId);
    await log.append(entry(accountId), { ...first, windows });
    expect(await usedOf(accountId), "the same message").toHaveLength(1);
    await log.append(entry(accountId), { ...first, windows, referenceBlock: "block 2" });
    const whole = { count: 1, computation: 999, fees: FEES };
    expect(await usedOf(accountId)).toEqual([{ count: 0, computation: 0, fees: 0 }, whole]);
    const day = await prisma.budgetReservation.findFirstOrThrow({
      where: { chainName: "c", proposal: first.proposal },
    });
    expect(day).toMatchObject({ referenceBlock: "block 2", addedCount: 0, budgets: windows.map(({ id }) => id) });
    // A window is deleted a day after its end.
    await prisma.budgetUsage.deleteMany({ where: { budget: windows[0]!.id } });
    clock.advance(3600_000);
    const next = { ...first, windows: reservation(accountId).windows, referenceBlock: "block 3" };
    expect(await verdictOf(log.append(entry(accountId), next))).toBe("signed");
    expect((await usedOf(accountId)).at(-1)).toEqual(whole);
  });

  it("each amount of a reservation grows by itself, and none shrinks with a newer reference block", async () => {
    const accountId = uuidv7(clock);
    const first = reservation(accountId);
    const sign = async (count: number, computation: number, fees: number, referenceBlock = "block 1") => {
      const amounts = { count, computation, fees };
      await newLog(postgres).append(entry(accountId), { ...first, amounts, referenceBlock });
      return usedOf(accountId);
    };
    expect(await sign(2, 20, 200)).toEqual([{ count: 2, computation: 20, fees: 200 }]);
    expect(await sign(2, 20, 300)).toEqual([{ count: 2, computation: 20, fees: 300 }]);
    expect(await sign(2, 30, 300)).toEqual([{ count: 2, computation: 30, fees: 300 }]);
    const most = [{ count: 3, computation: 30, fees: 300 }];
    expect(await sign(3, 30, 300)).toEqual(most);
    expect(await sign(1, 1, 1, "block 2")).toEqual(most);
    expect(await sign(3, 30, 300, "block 2")).toEqual(most);
  });

  it("a budget ends at its last unit of each amount, and one that was lowered below its use lets what takes nothing of it", async () => {
    const amounts = { count: 2, computation: 20, fees: 200 };
    for (const amount of ["count", "computation", "fees"] as const) {
      const accountId = uuidv7(clock);
      const limited = (most: number) => {
        const rule = { windowSeconds: 3600, count: undefined, computation: undefined, fees: undefined };
        return windowsAt("account", accountId, [{ ...rule, [amount]: most }], clock.now());
      };
      const first = reservation(accountId, { amounts, windows: limited(amounts[amount]) });
      const sign = (change: Partial<Reservation>) =>
        verdictOf(newLog(postgres).append(entry(accountId), { ...first, ...change }));
      expect(await sign({})).toBe("signed");
      const more = { ...amounts, [amount]: amounts[amount] + 1 };
      expect(await sign({ amounts: more })).toBe("BudgetExceeded");
      const other = { count: 3, computation: 30, fees: 300, [amount]: amounts[amount] };
      expect(await sign({ amounts: other, windows: limited(1) })).toBe("signed");
    }
  });

  it("a transaction that is signed for two apps in turn is in the budget of one of them", async () => {
    const accountId = uuidv7(clock);
    const rule = [{ windowSeconds: 3600, count: undefined, computation: undefined, fees: undefined }];
    const apps = ["first", "second"].map((app) => `${app}-${accountId}`);
    const first = reservation(accountId);
    const logs = databases.map(newLog);
    for (let i = 0; i < 8; i++) {
      const windows = [...windowsAt("app", apps[i % 2]!, rule, clock.now()), first.windows[0]!];
      const fees = FEES + Math.floor(i / 4);
      const amounts = { count: 1, computation: 999, fees };
      await logs[i % 2]!.append(entry(accountId), { ...first, amounts, windows, referenceBlock: `block ${i}` });
    }
    const rows = await prisma.budgetUsage.findMany({
      where: { budget: { contains: accountId } },
      orderBy: { budget: "asc" },
    });
    expect(rows.map(({ count, computation, fees }) => [count, computation, fees].map(Number))).toEqual([
      [1, 999, FEES + 1],
      [0, 0, 0],
      [1, 999, FEES + 1],
    ]);
  });

  it("accounts that are created end at the budget of creations, on all replicas, however they are spread over transactions", async () => {
    const limit = [{ windowSeconds: 3600, count: 25, computation: undefined, fees: undefined }];
    const windows = windowsAt("creation", "all", limit, clock.now());
    const creation = (accounts: number, change: Partial<Reservation> = {}): Reservation => ({
      ...reservation("", { amounts: { count: accounts, computation: 0, fees: 0 } }),
      windows,
      ...change,
    });
    const used = async () => {
      const [row] = await prisma.budgetUsage.findMany({ where: { budget: windows[0]!.id } });
      return Number(row?.count);
    };
    const logs = databases.map(newLog);
    const first = creation(3);
    expect(await verdictOf(logs[0]!.append(entry(""), first))).toBe("signed");
    expect(await used()).toBe(3);
    // Signed again with more accounts, one of the two executes: the larger one counts.
    expect(await verdictOf(logs[1]!.append(entry(""), { ...first, amounts: { ...first.amounts, count: 5 } }))).toBe(
      "signed",
    );
    expect(await verdictOf(logs[1]!.append(entry(""), first))).toBe("signed");
    expect(await used()).toBe(5);
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, (_, i) => verdictOf(logs[i % 2]!.append(entry(""), creation(i < 10 ? 10 : 1)))),
    );
    expect(verdicts.filter((verdict) => verdict === "BudgetExceeded").length).toBeGreaterThan(0);
    expect(await used()).toBeLessThanOrEqual(25);
    for (let i = await used(); i < 25; i++) await logs[0]!.append(entry(""), creation(1));
    expect(await verdictOf(logs[0]!.append(entry(""), creation(1)))).toBe("BudgetExceeded");
    expect(await used()).toBe(25);
    expect(await verdictOf(logs[0]!.append(entry(""), creation(1, { chainName: "d" })))).toBe("signed");
  });

  it("a batch whose decisions are of two policies is judged by the last one, and fails nobody else", async () => {
    const accountId = uuidv7(clock);
    const log = newLog(databases[0]!);
    const of = (limit: number, fees: number) =>
      reservation(accountId, { amounts: { count: 1, computation: 9, fees } }, { count: 10, fees: limit });
    const verdicts = await Promise.all([
      verdictOf(log.append(entry(accountId), of(100 * FEES, 50 * FEES))),
      verdictOf(log.append(entry(uuidv7(clock)), undefined)),
      verdictOf(log.append(entry(accountId), of(10 * FEES, 0))),
    ]);
    expect(verdicts).toEqual(["BudgetExceeded", "signed", "signed"]);
  });

  it("a window has a limit and a use of its own on each chain, also in one batch", async () => {
    const accountId = uuidv7(clock);
    const log = newLog(postgres);
    const of = (chainName: string, count: number, most: number) =>
      log.append(
        entry(accountId),
        reservation(accountId, { chainName, amounts: { count, computation: 0, fees: 0 } }, { count: most, fees: 0 }),
      );
    const verdicts = (...all: Promise<unknown>[]) => Promise.all(all.map(verdictOf));
    expect(await verdicts(of("c", 3, 5), of("d", 1, 1))).toEqual(["signed", "signed"]);
    expect(await verdicts(of("c", 2, 5), of("d", 1, 1))).toEqual(["signed", "BudgetExceeded"]);
    expect(await verdicts(of("c", 1, 5), of("d", 1, 2))).toEqual(["BudgetExceeded", "signed"]);
  });

  it("refusals that are not to be kept leave no record and no row", async () => {
    const accountId = uuidv7(clock);
    const log = newLog(postgres);
    const none = { count: 0, fees: 0 };
    const asked = Array.from({ length: 3 }, () =>
      verdictOf(log.append(entry(accountId), reservation(accountId, {}, none), () => false)),
    );
    expect(await Promise.all(asked)).toEqual(Array(3).fill("BudgetExceeded"));
    expect(await recordsOf(accountId)).toEqual([]);
    expect(await prisma.budgetReservation.count({ where: { budgets: { isEmpty: true } } })).toBe(0);
    expect(await verdictOf(log.append(entry(accountId), reservation(accountId)))).toBe("signed");
    expect(await recordsOf(accountId)).toHaveLength(1);
  });

  it("a commit that is refused leaves neither counts nor reservations", async () => {
    const accountId = uuidv7(clock);
    const store = postgresAuditStore(postgres);
    const chainId = uuidv7(clock);
    const head = { chainId, sequence: 0n, hash: genesisHash(chainId) };
    const counted = { minute: clock.now(), counts: new Map([[accountId, 1]]), limit: 100 };
    const charge = { counted, reservations: [reservation(accountId, {}, { count: 0, fees: FEES })] };
    const batch = signedBatch(newWriter(), head, chainRecords(head, [entry(accountId)]));
    expect(await store.commit(head, batch, charge)).toBe(false);
    expect(await usedOf(accountId)).toEqual([]);
    expect(await prisma.signatureCount.count({ where: { limitId: accountId } })).toBe(0);
  });
});
