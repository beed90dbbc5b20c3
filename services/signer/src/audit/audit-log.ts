import { AppError } from "@countersign/errors";
import { type Clock, type Logger, uuidv7 } from "@countersign/service-kit";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash } from "./record.ts";

/** Where a chain ends. */
export interface AuditHead {
  chainId: string;
  sequence: bigint;
  hash: string;
}

/** Signatures of a batch that count towards their accounts' limits in one minute. */
export interface CountedSignatures {
  readonly minute: Date;
  readonly counts: ReadonlyMap<string, number>;
  /** The most that an account may come to. */
  readonly limit: number;
}

/** Whether a batch was committed; if not, what the counts of its accounts have come to. */
export type AuditCommit = { readonly committed: true } | { readonly committed: false; readonly reached: Counts };
type Counts = ReadonlyMap<string, number>;

export interface AuditStore {
  startChain(head: AuditHead, startedAt: Date): Promise<void>;
  /**
   * Adds the counts and, where no account is over its limit then, commits the records and the new head. Fails when the head is not `head` any more.
   */
  commit(head: AuditHead, records: readonly AuditRecord[], counted?: CountedSignatures): Promise<AuditCommit>;
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
  /** Where this process's chain ends; undefined before its first record, and after a commit that failed. */
  head(): AuditHead | undefined;
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

  /** Most batches have nobody who is over the limit: then records are written as they were decided, and else with what the counts came to. */
  async function write(current: AuditHead, entries: readonly AuditEntry[], minute: Date): Promise<AuditRecord[]> {
    const counts = new Map<string, number>();
    const limited = ({ verdict, accountId }: AuditEntry) => verdict === "signed" && accountId !== "";
    for (const entry of entries)
      if (limited(entry)) counts.set(entry.accountId, (counts.get(entry.accountId) ?? 0) + 1);
    const records = chainRecords(current, entries);
    const first = await store.commit(current, records, { minute, counts, limit: signaturesPerMinute });
    if (first.committed) return records;

    const before = new Map([...counts].map(([id, count]) => [id, (first.reached.get(id) ?? count) - count]));
    const judged = entries.map((entry): AuditEntry => {
      if (!limited(entry)) return entry;
      const count = before.get(entry.accountId)! + 1;
      before.set(entry.accountId, count);
      return count > signaturesPerMinute ? { ...entry, verdict: "RateLimited" } : entry;
    });
    const again = chainRecords(current, judged);
    await store.commit(current, again);
    return again;
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const now = clock.now();
    const minute = new Date(Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS);
    head ??= await begin();
    const entries = batch.map(({ entry }) => entry);
    const records = await write(head, entries, minute);
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
    // Who came with the first one, in the same message of a stream, shares its commit.
    await new Promise(setImmediate);
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
    head: () => head,
  };
}
