import { FixedClock } from "@countersign/core/testing";
import { createLogger, createMetrics } from "@countersign/runtime";
import { describe, expect, it } from "vitest";
import type { Amounts, BudgetWindow, Reservation } from "../budget/budget.ts";
import { findOverBudget, type Reserved, usageId } from "../budget/over-budget.ts";
import { auditEntry, auditKeys, chainIdOf, newWriter, time } from "../testing/audit-fixture.ts";
import { verifyChain } from "../testing/verify-chain.ts";
import { createAuditLog } from "./audit-log.ts";
import type { AuditHead, AuditStore, SignedBatch } from "./audit-store.ts";
import { readCertificate, verifyBatch } from "./batch.ts";
import { countRecords } from "./count-records.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash } from "./record.ts";

const entry = (change: Partial<AuditEntry> = {}) =>
  auditEntry({ accountId: "a", sessionId: "s", messageHash: "00", scriptHash: "01", ...change });
const start = { chainId: "chain", sequence: 0n, hash: genesisHash("chain") };
const records = chainRecords(start, [entry(), entry({ verdict: "GasLimit" }), entry({ accountId: "b" })]);
const last = records.at(-1)!;
const head = { chainId: "chain", sequence: 3n, hash: last.hash };

const unlinked = chainRecords({ ...start, sequence: 1n, hash: genesisHash("x") }, [entry(), entry()]);
const unlinkedEnd = unlinked.at(-1)!.hash;

describe("a chain of records", () => {
  it("is whole as it was written", () => {
    expect(verifyChain(records, head)).toBe("");
    expect(verifyChain([], start)).toBe("");
  });

  it.each<[string, readonly AuditRecord[], AuditHead]>([
    ["a changed verdict", records.map((record, i) => (i === 1 ? { ...record, verdict: "signed" } : record)), head],
    ["a changed time", records.map((record, i) => (i === 0 ? { ...record, time: new Date(0) } : record)), head],
    ["a removed record", records.toSpliced(1, 1), head],
    ["a missing tail", records.slice(0, 2), head],
    ["two records in another order", [records[1]!, records[0]!, records[2]!], head],
    [
      "a record of another chain",
      [...chainRecords({ ...start, chainId: "other" }, [entry()]), ...records.slice(1)],
      head,
    ],
    ["another head", records, { ...head, hash: genesisHash("x") }],
    // Its hash is right for what it says: only the hash of the record before gives it away.
    [
      "a record that follows another one than the one before",
      [records[0]!, ...unlinked],
      { ...head, hash: unlinkedEnd },
    ],
    ["a rewritten chain", chainRecords(start, [entry(), entry(), entry()]), head],
  ])("shows %s", (_, changed, end) => {
    expect(verifyChain(changed, end)).not.toBe("");
  });
});

describe("a record's hash", () => {
  const of = (change: Partial<AuditEntry>) => chainRecords(start, [entry(change)])[0]!.hash;
  const changes: Omit<AuditEntry, "limitId"> = {
    time: new Date("2026-11-20T10:00:00.001Z"),
    caller: "shop",
    accountId: "b",
    sessionId: "t",
    operation: "paymaster",
    chainName: "flow-mainnet",
    messageHash: "02",
    scriptHash: "03",
    verdict: "GasLimit",
    policyVersion: "header-3",
    keyVersion: 2,
  };
  it.each(Object.entries(changes))("changes with its %s", (field, value) => {
    expect(of({ [field]: value })).not.toBe(of({}));
  });

  it("changes with its place", () => {
    const [first] = records;
    const again = (change: Partial<typeof start>) => chainRecords({ ...start, ...change }, [entry()])[0]!.hash;
    expect(again({})).toBe(first!.hash);
    for (const change of [{ chainId: "other" }, { sequence: 1n }, { hash: genesisHash("x") }]) {
      expect(again(change)).not.toBe(first!.hash);
    }
  });
});

const NOTHING: Amounts = { count: 0, computation: 0, fees: 0 };
const reservation = (sequence: number, limits: BudgetWindow["limits"]): Reservation => ({
  chainName: "c",
  proposal: `aa/1/${sequence}`,
  referenceBlock: "b",
  amounts: { count: 1, computation: 999, fees: 4_006_000 },
  windows: [{ id: "account/a/60/1", endsAt: new Date("2026-11-21T00:01:00Z"), limits }],
});

/** A store in memory whose commits take a turn of the event loop, and fail on request. */
function memoryStore() {
  const chains = new Map<string, { head: AuditHead; records: AuditRecord[]; batches: SignedBatch[] }>();
  const counts = new Map<string, number>();
  const state = { chains, commits: 0, failNext: false };
  const budgets = { reserved: new Map<string, Reserved>(), used: new Map<string, Amounts>() };
  const use = ({ chainName, windows, amounts }: Reservation) => {
    for (const { id } of windows) {
      const { count, computation, fees } = budgets.used.get(usageId(chainName, id)) ?? NOTHING;
      budgets.used.set(usageId(chainName, id), {
        count: count + amounts.count,
        computation: computation + amounts.computation,
        fees: fees + amounts.fees,
      });
    }
  };
  const push = (current: AuditHead, batch: SignedBatch) => {
    const { records } = batch;
    const chain = chains.get(current.chainId)!;
    chain.batches.push(batch);
    chain.records.push(...records);
    chain.head = { chainId: current.chainId, sequence: records.at(-1)!.sequence, hash: records.at(-1)!.hash };
  };
  const store: AuditStore = {
    async startChain(first) {
      chains.set(first.chainId, { head: first, records: [], batches: [] });
    },
    async commit(current, batch, charge) {
      await new Promise(setImmediate);
      state.commits += 1;
      if (state.failNext) {
        state.failNext = false;
        throw new Error("the database is away");
      }
      const over = [...(charge?.counted.counts ?? [])].some(
        ([id, count]) => (counts.get(id) ?? 0) + count > charge!.counted.limit,
      );
      if (over || findOverBudget(charge?.reservations ?? [], budgets).size > 0) return false;
      for (const [id, count] of charge?.counted.counts ?? []) counts.set(id, (counts.get(id) ?? 0) + count);
      for (const reservation of charge?.reservations ?? []) use(reservation);
      push(current, batch);
      return true;
    },
    async commitWithinLimits(current, { counted }, judge) {
      for (const [id, count] of counted.counts) counts.set(id, (counts.get(id) ?? 0) + count);
      const { batch, reservations } = await judge(counts, budgets);
      for (const reservation of reservations) use(reservation);
      if (batch.records.length > 0) push(current, batch);
    },
  };
  return { store, state };
}

function newLog(signaturesPerMinute = 1000) {
  const { store: memory, state } = memoryStore();
  const metrics = createMetrics("signer", { defaults: false });
  const store = countRecords(memory, { metrics });
  const logger = createLogger({ name: "test", level: "silent" });
  const clock = new FixedClock(time);
  const writer = newWriter();
  return { log: createAuditLog({ store, writer, clock, logger, signaturesPerMinute }), state, clock, writer, metrics };
}

describe("the audit log", () => {
  it("shares commits, and every receipt is its record's", async () => {
    const { log, state } = newLog();
    const receipts = await Promise.all(
      Array.from({ length: 100 }, (_, i) => log.append(entry({ messageHash: String(i) }))),
    );
    expect(state.commits).toBeLessThan(5);
    const [chain] = [...state.chains.values()];
    expect(verifyChain(chain!.records, chain!.head)).toBe("");
    receipts.forEach((receipt, i) => {
      expect(chain!.records[Number(receipt.sequence) - 1]).toMatchObject({
        messageHash: String(i),
        hash: receipt.hash,
      });
    });
  });

  it("is counted by operation and verdict as it was committed, also where a limit changed the verdict", async () => {
    const { log, state, metrics } = newLog(3);
    const append = (change: Partial<AuditEntry>) => log.append(entry(change)).catch(() => undefined);
    await append({ accountId: "b", verdict: "GasLimit", operation: "paymaster" });
    state.failNext = true;
    await append({ accountId: "b" });
    await Promise.all(Array.from({ length: 5 }, () => append({})));
    const counted = (await metrics.registry.metrics()).match(/^countersign_signer_signatures_total.*$/gm);
    expect(counted?.map((line) => line.replace(',service="signer"', ""))).toEqual([
      'countersign_signer_signatures_total{operation="paymaster",verdict="GasLimit"} 1',
      'countersign_signer_signatures_total{operation="transaction",verdict="signed"} 3',
      'countersign_signer_signatures_total{operation="transaction",verdict="RateLimited"} 2',
    ]);
    const kept = [...state.chains.values()].flatMap(({ records: each }) => each.map(({ verdict }) => verdict));
    expect(kept.sort()).toEqual(["GasLimit", "RateLimited", "RateLimited", "signed", "signed", "signed"]);
  });

  it("a commit that failed refuses its batch and begins another chain", async () => {
    const { log, state } = newLog();
    await log.append(entry());
    state.failNext = true;
    await expect(log.append(entry())).rejects.toMatchObject({ reason: "Unavailable" });
    const { chainId, sequence } = await log.append(entry());
    expect(sequence).toBe(1n);
    expect([...state.chains.keys()].indexOf(chainId)).toBe(1);
    for (const chain of state.chains.values()) expect(verifyChain(chain.records, chain.head)).toBe("");
  });

  it("signs each batch for its place", async () => {
    const { log, state, writer } = newLog();
    for (const count of [3, 1, 2]) await Promise.all(Array.from({ length: count }, () => log.append(entry())));
    const key = readCertificate(writer.certificate, auditKeys)!;
    const [chainId, { batches }] = [...state.chains][0]!;
    expect(batches.map(({ records }) => records.length)).toEqual([3, 1, 2]);
    let previousHash = genesisHash(chainId);
    for (const { records, signature } of batches) {
      const place = { chainId, first: records[0]!.sequence, last: records.at(-1)!.sequence, previousHash };
      const hashes = Buffer.from(records.map(({ hash }) => hash).join(""), "hex");
      expect(verifyBatch(key, place, hashes, signature)).toBe(true);
      const others = [
        { chainId: chainIdOf(9) },
        { first: place.first + 1n },
        { last: place.last + 1n },
        { previousHash: genesisHash("x") },
      ];
      for (const other of others) expect(verifyBatch(key, { ...place, ...other }, hashes, signature)).toBe(false);
      expect(verifyBatch(key, place, Buffer.concat([hashes, hashes]), signature)).toBe(false);
      previousHash = records.at(-1)!.hash;
    }
  });

  it("writes no decision that is older than 20 seconds: a process stood still meanwhile", async () => {
    const { log, state, clock } = newLog();
    const old = entry();
    clock.advance(20_001);
    const results = await Promise.allSettled([log.append(old), log.append(entry({ time: clock.now() }))]);
    expect(results).toMatchObject([{ reason: { reason: "Unavailable" } }, { value: { sequence: 1n } }]);
    expect([...state.chains.values()][0]!.records).toHaveLength(1);
  });

  it("leaves refusals by a budget out that are not to be kept; the records beside them stand as they were", async () => {
    const { log, state } = newLog();
    const none = { count: 0 };
    const outcome = (work: Promise<{ sequence: bigint }>) =>
      work.then(
        ({ sequence }) => Number(sequence),
        (error) => error.metadata.reason,
      );
    const asked = [
      log.append(entry({ messageHash: "a" }), reservation(1, none), () => false),
      log.append(entry({ messageHash: "b" })),
      log.append(entry({ messageHash: "c" }), reservation(2, none), () => true),
      log.append(entry({ messageHash: "d" }), reservation(3, none), () => false),
      log.append(entry({ messageHash: "e" })),
    ];
    const full = "BudgetExceeded";
    expect(await Promise.all(asked.map(outcome))).toEqual([full, 1, full, full, 3]);
    const [chain] = [...state.chains.values()];
    expect(chain!.records.map(({ messageHash, verdict }) => [messageHash, verdict])).toEqual([
      ["b", "signed"],
      ["c", full],
      ["e", "signed"],
    ]);
    expect(verifyChain(chain!.records, chain!.head)).toBe("");
    // A batch of nothing else writes nothing, and the chain goes on.
    expect(await outcome(log.append(entry(), reservation(4, none), () => false))).toBe(full);
    expect(chain!.records).toHaveLength(3);
    expect(await outcome(log.append(entry()))).toBe(4);
    expect(verifyChain(chain!.records, chain!.head)).toBe("");
  });

  it("counts signatures per account and records who was over the limit", async () => {
    const { log, state } = newLog(3);
    const asked = [...Array(5).fill("a"), "b"].map((accountId) => log.append(entry({ accountId })));
    const results = await Promise.allSettled(asked);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(results[3]).toMatchObject({ reason: { reason: "RateLimited", retryAfterSeconds: expect.any(Number) } });
    const [chain] = [...state.chains.values()];
    expect(chain!.records.map(({ verdict }) => verdict).sort()).toEqual([
      "RateLimited",
      "RateLimited",
      "signed",
      "signed",
      "signed",
      "signed",
    ]);
    expect(() => log.requireWithinLimit("a")).toThrow("RateLimited");
    expect(() => log.requireWithinLimit("b")).not.toThrow();
  });

  it("counts refusals in the limit of signatures per minute, those that are not recorded as well", async () => {
    const { log, state } = newLog(3);
    const refused = () => log.append(entry({ accountId: "a", verdict: "GasLimit" }));
    await Promise.all([refused(), refused(), refused()]);
    await expect(log.append(entry({ accountId: "a" }))).rejects.toMatchObject({ reason: "RateLimited" });
    const [chain] = [...state.chains.values()];
    expect(chain!.records.map(({ verdict }) => verdict)).toEqual(["GasLimit", "GasLimit", "GasLimit", "RateLimited"]);
    for (let i = 0; i < 2; i++) log.noteRefusal("b");
    expect(() => log.requireWithinLimit("b")).not.toThrow();
    log.noteRefusal("b");
    expect(() => log.requireWithinLimit("b")).toThrow("RateLimited");
    // Requests without an account, such as creations, have no such limit.
    for (let i = 0; i < 10; i++) log.noteRefusal("");
    expect(() => log.requireWithinLimit("")).not.toThrow();
  });

  it("refuses and records what exceeds a budget, and nothing else of the batch", async () => {
    const { log, state } = newLog();
    const limits = { fees: 10_000_000 };
    const asked = [1, 2, 3].map((sequence) => log.append(entry(), reservation(sequence, limits)));
    const results = await Promise.allSettled([...asked, log.append(entry())]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
    expect(results[2]).toMatchObject({
      reason: {
        reason: "SigningRefused",
        metadata: { reason: "BudgetExceeded" },
        detail: "the account's budget of 60 seconds is used up until 2026-11-21T00:01:00.000Z",
      },
    });
    const [chain] = [...state.chains.values()];
    expect(chain!.records.map(({ verdict }) => verdict)).toEqual(["signed", "signed", "BudgetExceeded", "signed"]);
    expect(verifyChain(chain!.records, chain!.head)).toBe("");
  });

  it("a request over the limit of signatures takes no budget from the others of its batch", async () => {
    const { log } = newLog(1);
    const limits = { count: 2 };
    const asked = ["a", "a", "b"].map((accountId, i) => log.append(entry({ accountId }), reservation(i, limits)));
    const results = await Promise.allSettled(asked);
    expect(results.map((result) => (result.status === "rejected" ? result.reason.reason : "signed"))).toEqual([
      "signed",
      "RateLimited",
      "signed",
    ]);
  });
});
