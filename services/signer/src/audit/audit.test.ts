import { createLogger, FixedClock } from "@countersign/service-kit";
import { describe, expect, it } from "vitest";
import { type AuditHead, type AuditStore, createAuditLog } from "./audit-log.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash, verifyChain } from "./record.ts";

const entry = (change: Partial<AuditEntry> = {}): AuditEntry => ({
  time: new Date("2026-11-20T10:00:00Z"),
  caller: "gateway",
  accountId: "a",
  sessionId: "s",
  operation: "transaction",
  chainName: "flow-emulator",
  messageHash: "00",
  scriptHash: "01",
  verdict: "signed",
  policyVersion: "header-2",
  keyVersion: 1,
  ...change,
});
const start = { chainId: "chain", sequence: 0n, hash: genesisHash("chain") };
const records = chainRecords(start, [entry(), entry({ verdict: "GasLimit" }), entry({ accountId: "b" })]);
const last = records.at(-1)!;
const head = { chainId: "chain", sequence: 3n, hash: last.hash };

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
    ["a rewritten chain", chainRecords(start, [entry(), entry(), entry()]), head],
  ])("shows %s", (_, changed, end) => {
    expect(verifyChain(changed, end)).not.toBe("");
  });
});

/** A store in memory whose commits take a turn of the event loop, and fail on request. */
function memoryStore() {
  const chains = new Map<string, { head: AuditHead; records: AuditRecord[] }>();
  const counts = new Map<string, number>();
  const state = { chains, commits: 0, failNext: false };
  const store: AuditStore = {
    async startChain(first) {
      chains.set(first.chainId, { head: first, records: [] });
    },
    async commit(current, records, counted) {
      await new Promise(setImmediate);
      state.commits += 1;
      if (state.failNext) {
        state.failNext = false;
        throw new Error("the database is away");
      }
      for (const [id, count] of counted?.counts ?? []) counts.set(id, (counts.get(id) ?? 0) + count);
      const over = [...(counted?.counts.keys() ?? [])].some((id) => counts.get(id)! > counted!.limit);
      if (over) return { committed: false, reached: counts };
      const chain = chains.get(current.chainId)!;
      chain.records.push(...records);
      chain.head = { chainId: current.chainId, sequence: records.at(-1)!.sequence, hash: records.at(-1)!.hash };
      return { committed: true };
    },
  };
  return { store, state };
}

function newLog(signaturesPerMinute = 1000) {
  const { store, state } = memoryStore();
  const logger = createLogger({ name: "test", level: "silent" });
  return { log: createAuditLog({ store, clock: new FixedClock(), logger, signaturesPerMinute }), state };
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
    await expect(log.append(entry({ accountId: "a", verdict: "GasLimit" }))).resolves.toBeDefined();
    expect(() => log.admit("a")).toThrow("RateLimited");
    expect(() => log.admit("b")).not.toThrow();
  });
});
