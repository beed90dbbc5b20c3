import { AppError } from "@countersign/errors";
import { type Clock, type Logger, uuidv7 } from "@countersign/service-kit";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash } from "./record.ts";

/** Where a chain ends. */
export interface AuditHead {
  chainId: string;
  sequence: bigint;
  hash: string;
}

/** What is committed as one transaction: the batch decides who is over the limit, so records are made from its answer. */
export interface AuditStore {
  startChain(head: AuditHead, startedAt: Date): Promise<void>;
  /**
   * Counts `counts` signatures per account in the minute, calls `build` with the counts reached, and commits the records and the new head; fails
   * when the head is not `head` any more.
   */
  commit(
    head: AuditHead,
    minute: Date,
    counts: ReadonlyMap<string, number>,
    build: (reached: ReadonlyMap<string, number>) => AuditRecord[],
  ): Promise<AuditRecord[]>;
}

export interface AuditLogOptions {
  store: AuditStore;
  clock: Clock;
  logger: Logger;
  /** Signatures per minute and account, over all replicas. */
  signaturesPerMinute: number;
}

/** Where a decision stands in the log. */
export interface AuditReceipt {
  chainId: string;
  sequence: bigint;
  hash: string;
}

export interface AuditLog {
  /** Turns away, without work and without a record, whoever was over the limit in this minute already. Errors: RateLimited. */
  admit(accountId: string): void;
  /** Resolves once the record is durable. Errors: RateLimited where the account has its most signatures, Unavailable where nothing could be written. */
  append(entry: AuditEntry): Promise<AuditReceipt>;
}

interface Waiting {
  entry: AuditEntry;
  resolve(receipt: AuditReceipt): void;
  reject(error: unknown): void;
}

const BATCH = 256;
const MINUTE_MS = 60_000;

/**
 * One chain of records for this process. Records that arrive while a commit is under way share the next one, so that durability costs one flush per batch
 * and not one per signature. After a commit that failed the chain is given up and a new one begun: what the database has of the old one stays provable.
 */
export function createAuditLog({ store, clock, logger, signaturesPerMinute }: AuditLogOptions): AuditLog {
  const queue: Waiting[] = [];
  let head: AuditHead | undefined;
  let running = false;
  /** Accounts over the limit, and until when. */
  const overLimit = new Map<string, number>();

  async function begin(): Promise<AuditHead> {
    const chainId = uuidv7(clock);
    const started = { chainId, sequence: 0n, hash: genesisHash(chainId) };
    await store.startChain(started, clock.now());
    return started;
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const now = clock.now();
    const minute = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
    const counts = new Map<string, number>();
    const limited = ({ entry }: Waiting) => entry.verdict === "signed" && entry.accountId !== "";
    for (const waiting of batch) {
      const { accountId } = waiting.entry;
      if (limited(waiting)) counts.set(accountId, (counts.get(accountId) ?? 0) + 1);
    }
    head ??= await begin();
    const current = head;
    const records = await store.commit(current, minute, counts, (reached) => {
      const before = new Map([...counts].map(([id, count]) => [id, (reached.get(id) ?? count) - count]));
      const entries = batch.map((waiting): AuditEntry => {
        if (!limited(waiting)) return waiting.entry;
        const count = before.get(waiting.entry.accountId)! + 1;
        before.set(waiting.entry.accountId, count);
        return count > signaturesPerMinute ? { ...waiting.entry, verdict: "RateLimited" } : waiting.entry;
      });
      return chainRecords(current, entries);
    });
    const last = records.at(-1)!;
    head = { chainId: last.chainId, sequence: last.sequence, hash: last.hash };
    const retryAfterSeconds = Math.max(1, Math.ceil((minute.getTime() + MINUTE_MS - now.getTime()) / 1000));
    batch.forEach((waiting, i) => {
      const { chainId, sequence, hash, verdict } = records[i]!;
      if (verdict === waiting.entry.verdict) waiting.resolve({ chainId, sequence, hash });
      else {
        overLimit.set(waiting.entry.accountId, minute.getTime() + MINUTE_MS);
        waiting.reject(new AppError("RateLimited", { retryAfterSeconds }));
      }
    });
  }

  async function drain(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      const batch = queue.splice(0, BATCH);
      try {
        await commit(batch);
      } catch (cause) {
        // Whether it committed is unknown: nothing of it leaves, and nothing may follow it.
        head = undefined;
        logger.error({ err: cause }, "audit records could not be written");
        for (const { reject } of batch) reject(new AppError("Unavailable", { cause }));
      }
    }
    running = false;
  }

  return {
    admit(accountId) {
      const until = overLimit.get(accountId);
      if (until === undefined) return;
      const left = until - clock.now().getTime();
      if (left > 0) throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(left / 1000) });
      overLimit.delete(accountId);
    },
    append: (entry) =>
      new Promise((resolve, reject) => {
        queue.push({ entry, resolve, reject });
        if (!running) void drain();
      }),
  };
}
