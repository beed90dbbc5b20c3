import { AppError, type Clock, type Logger, uuidv7 } from "@countersign/core";
import {
  type BudgetWindow,
  isOpenFees,
  mergeReservations,
  type Reservation,
  readWindowId,
  reservationId,
} from "../budget/budget.ts";
import { type BudgetState, findOverBudget } from "../budget/judge.ts";
import type { SignedText } from "./audit-key.ts";
import { batchText } from "./batch.ts";
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

/** What a batch of records counts and reserves. */
export interface Charge {
  readonly counted: CountedSignatures;
  /** One for each transaction. */
  readonly reservations: readonly Reservation[];
}

/** Records that commit together. */
export interface SignedBatch {
  readonly records: readonly AuditRecord[];
  /** The writer's over batchText; empty where there is no record. */
  readonly signature: Uint8Array;
}

/** What of a batch is committed where an account is over a limit. */
export interface Judged {
  readonly batch: SignedBatch;
  readonly reservations: readonly Reservation[];
}

export interface AuditStore {
  startChain(head: AuditHead, startedAt: Date, certificate: SignedText): Promise<void>;
  /**
   * Commits counts, reservations, records and the new head, all or nothing. False, and nothing written, where
   * a limit or a budget would be passed. Errors: AuditHeadMovedError, without records, where the chain has
   * another head: what it counted and reserved may stay, as after a signature that never left.
   */
  commit(head: AuditHead, batch: SignedBatch, charge?: Charge): Promise<boolean>;
  /**
   * The same after a commit that returned false: adds the counts, locks the budgets, calls `judge` with what
   * the accounts have reached and what the budgets hold, and commits its result, which may be no record.
   */
  commitJudged(
    head: AuditHead,
    charge: Charge,
    judge: (reached: Counts, state: BudgetState) => Promise<Judged>,
  ): Promise<void>;
}
type Counts = ReadonlyMap<string, number>;

/** The database has another head of a chain than its only writer left there. */
export class AuditHeadMovedError extends Error {
  override readonly name = "AuditHeadMovedError";
}

export interface AuditLogOptions {
  store: AuditStore;
  /** This process's key for its batches; see vault/audit-writer.ts. */
  writer: { readonly certificate: SignedText; sign(text: Uint8Array): Promise<Uint8Array> };
  clock: Clock;
  logger: Logger;
  /** Signatures per minute and account (see AuditEntry.countedAs), over all replicas. */
  signaturesPerMinute: number;
  /** Called for each signature that a budget refuses. */
  onBudgetExceeded?: (window: BudgetWindow) => void;
  /** Called where another writer changed this process's chain. */
  onAlarm?: () => void;
}

/** The place of a decision in the log. */
export interface AuditReceipt {
  chainId: string;
  sequence: bigint;
  hash: string;
}

export interface AuditLog {
  /** Rejects early, without a record, what was over its limit in this minute already. Errors: RateLimited. */
  requireWithinLimit(countedAs: string): void;
  /** Counts a refusal in a limit of signatures per minute, whether it is recorded or not. */
  noteRefusal(countedAs: string): void;
  /**
   * Resolves once the record and the reservation are durable. Where a budget refuses, the refusal is recorded
   * unless `keepsRefusal` returns false. Errors: RateLimited at the limit of signatures per minute,
   * SigningRefused (BudgetExceeded), Unavailable where nothing could be written.
   */
  append(entry: AuditEntry, reservation?: Reservation, keepsRefusal?: () => boolean): Promise<AuditReceipt>;
  /** Where this process's chain ends; undefined before its first record, and after a commit that failed. */
  head(): AuditHead | undefined;
}

interface Waiting {
  entry: AuditEntry;
  reservation: Reservation | undefined;
  keepsRefusal: (() => boolean) | undefined;
  resolve(receipt: AuditReceipt): void;
  reject(error: unknown): void;
}

/**
 * A committed batch: the record of each entry, undefined for a refusal that is not kept. `full`: windows
 * whose limit is reached, by reservation.
 */
interface Written {
  records: readonly (AuditRecord | undefined)[];
  full: ReadonlyMap<string, BudgetWindow>;
}

/** Few enough that a busy signer decides about some requests while the records of others are flushed. */
const MAX_RECORDS_PER_BATCH = 64;
const MINUTE_MS = 60_000;
/** Older decisions are not written: to the verifier, records much older than their checkpoint are forged. */
const MAX_ENTRY_AGE_MS = 20_000;

const countedAs = ({ accountId, countedAs: id = accountId }: AuditEntry): string => id;

/**
 * Keeps one chain of records for this process. Records that arrive while a commit is in progress share the
 * next one, so that durability costs one flush per batch and not one per signature. After a failed commit the
 * chain is given up and a new one begins: what the database has of the old one stays provable.
 */
export function createAuditLog(options: AuditLogOptions): AuditLog {
  const { store, writer, clock, logger, signaturesPerMinute, onBudgetExceeded = () => undefined } = options;
  const queue: Waiting[] = [];
  let head: AuditHead | undefined;
  let running = false;
  /** Who is over the limit, by AuditEntry.countedAs, and until when. */
  const overLimit = new Map<string, number>();
  /** Refusals of this process in the minute that begins then, by AuditEntry.countedAs. */
  let refusals = { minute: 0, counts: new Map<string, number>() };

  /** Sessions come and go: those whose minute is over are forgotten. */
  function rejectUntil(id: string, until: number): void {
    for (const [other, end] of overLimit) if (end < until) overLimit.delete(other);
    overLimit.set(id, until);
  }

  async function begin(): Promise<AuditHead> {
    const chainId = uuidv7(clock);
    const started = { chainId, sequence: 0n, hash: genesisHash(chainId) };
    await store.startChain(started, clock.now(), writer.certificate);
    return started;
  }

  async function signBatch(current: AuditHead, records: readonly AuditRecord[]): Promise<SignedBatch> {
    if (records.length === 0) return { records, signature: new Uint8Array() };
    const place = { chainId: current.chainId, first: records[0]!.sequence, last: records.at(-1)!.sequence };
    const hashes = Buffer.from(records.map(({ hash }) => hash).join(""), "hex");
    return { records, signature: await writer.sign(batchText({ ...place, previousHash: current.hash }, hashes)) };
  }

  /**
   * Writes records as they were decided; only where a limit is passed, which is rare, with the verdicts that
   * follow from the limits.
   */
  async function write(current: AuditHead, batch: readonly Waiting[], minute: Date): Promise<Written> {
    const counts = new Map<string, number>();
    // Refusals count as well: they cost as much, and a script that is refused costs the most.
    for (const { entry } of batch) {
      const id = countedAs(entry);
      if (id !== "") counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const counted = { minute, counts, limit: signaturesPerMinute };
    const reservations = mergeReservations(batch.flatMap(({ reservation }) => reservation ?? []));
    const entries = batch.map(({ entry }) => entry);
    const decided = chainRecords(current, entries);
    const signed = await signBatch(current, decided);
    if (await store.commit(current, signed, { counted, reservations })) return { records: decided, full: new Map() };

    let written: Written = { records: decided, full: new Map() };
    await store.commitJudged(current, { counted, reservations }, async (reached, state) => {
      const before = new Map([...counts].map(([id, count]) => [id, (reached.get(id) ?? count) - count]));
      const within = batch.filter(({ entry }) => {
        const id = countedAs(entry);
        if (id === "") return true;
        const count = before.get(id)! + 1;
        before.set(id, count);
        return count <= signaturesPerMinute;
      });
      const requested = mergeReservations(within.flatMap(({ reservation }) => reservation ?? []));
      const full = findOverBudget(requested, state);
      const allowed = new Set(within);
      const judged = batch.map((waiting): AuditEntry | undefined => {
        if (!allowed.has(waiting)) return { ...waiting.entry, verdict: "RateLimited" };
        const over = waiting.reservation && full.has(reservationId(waiting.reservation));
        if (!over) return waiting.entry;
        return waiting.keepsRefusal?.() === false ? undefined : { ...waiting.entry, verdict: "BudgetExceeded" };
      });
      const records = chainRecords(
        current,
        judged.filter((one) => one !== undefined),
      );
      const inTurn = records.values();
      written = { records: judged.map((one) => one && inTurn.next().value), full };
      const allowedReservations = requested.filter((each) => !full.has(reservationId(each)));
      return { batch: await signBatch(current, records), reservations: allowedReservations };
    });
    return written;
  }

  /** Why a signature does not leave though the rules had allowed it. */
  function refusal({ entry, reservation }: Waiting, verdict: string, minute: Date, { full }: Written): AppError {
    if (verdict === "RateLimited") {
      const until = minute.getTime() + MINUTE_MS;
      rejectUntil(countedAs(entry), until);
      const left = Math.ceil((until - clock.now().getTime()) / 1000);
      return new AppError("RateLimited", { retryAfterSeconds: Math.max(1, left) });
    }
    const window = full.get(reservationId(reservation!))!;
    onBudgetExceeded(window);
    const { scope, windowSeconds } = readWindowId(window.id);
    return new AppError("SigningRefused", {
      detail: isOpenFees(window.id)
        ? "too many transactions of this account are signed and not sent: send them, or wait until they expire"
        : `the ${scope}'s budget of ${windowSeconds} seconds is used up until ${window.endsAt.toISOString()}`,
      metadata: { reason: "BudgetExceeded" },
    });
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const minute = new Date(Math.floor(clock.now().getTime() / MINUTE_MS) * MINUTE_MS);
    head ??= await begin();
    const written = await write(head, batch, minute);
    const last = written.records.findLast((record) => record !== undefined);
    if (last) head = { chainId: last.chainId, sequence: last.sequence, hash: last.hash };
    batch.forEach((waiting, i) => {
      const record = written.records[i];
      if (record?.verdict === waiting.entry.verdict) {
        const { chainId, sequence, hash } = record;
        waiting.resolve({ chainId, sequence, hash });
      } else waiting.reject(refusal(waiting, record?.verdict ?? "BudgetExceeded", minute, written));
    });
  }

  /** Rejects what a process that stood still decided too long ago. */
  function rejectOld(batch: readonly Waiting[]): Waiting[] {
    const oldest = clock.now().getTime() - MAX_ENTRY_AGE_MS;
    return batch.filter(({ entry, reject }) => {
      const isNew = entry.time.getTime() >= oldest;
      if (!isNew) reject(new AppError("Unavailable"));
      return isNew;
    });
  }

  async function drain(): Promise<void> {
    running = true;
    // Who came with the first one, in the same message of a stream, shares its commit.
    await new Promise(setImmediate);
    while (queue.length > 0) {
      const batch = rejectOld(queue.splice(0, MAX_RECORDS_PER_BATCH));
      if (batch.length === 0) continue;
      try {
        await commit(batch);
      } catch (cause) {
        // Whether it committed is unknown: nothing of it leaves, and nothing may follow it.
        head = undefined;
        if (cause instanceof AuditHeadMovedError) options.onAlarm?.();
        logger.error({ err: cause }, "audit records could not be written; their signatures are not returned");
        for (const { reject } of batch) reject(new AppError("Unavailable", { cause }));
      }
    }
    running = false;
  }

  return {
    requireWithinLimit(id) {
      const until = overLimit.get(id);
      if (until === undefined) return;
      const left = until - clock.now().getTime();
      if (left > 0) throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(left / 1000) });
      overLimit.delete(id);
    },
    noteRefusal(id) {
      if (id === "") return;
      const minute = Math.floor(clock.now().getTime() / MINUTE_MS) * MINUTE_MS;
      if (refusals.minute !== minute) refusals = { minute, counts: new Map() };
      const count = (refusals.counts.get(id) ?? 0) + 1;
      refusals.counts.set(id, count);
      if (count >= signaturesPerMinute) rejectUntil(id, minute + MINUTE_MS);
    },
    append: (entry, reservation, keepsRefusal) =>
      new Promise((resolve, reject) => {
        queue.push({ entry, reservation, keepsRefusal, resolve, reject });
        if (!running) void drain();
      }),
    head: () => head,
  };
}
