import { AppError, type Clock, type Logger, minuteOf, uuidv7 } from "@countersign/core";
import { type BudgetWindow, mergeReservations, type Reservation, reservationId } from "../budget/budget.ts";
import { applyLimits, budgetExceeded, type Decision } from "./apply-limits.ts";
import type { SignedText } from "./audit-key.ts";
import { type AuditHead, AuditHeadMovedError, type AuditStore, type SignedBatch } from "./audit-store.ts";
import { batchText } from "./batch.ts";
import { LEAVE_CHAIN_AFTER_MS } from "./checkpoint.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash } from "./record.ts";
import { createSignatureLimit } from "./signature-limit.ts";

export interface AuditLogOptions {
  store: AuditStore;
  /** This process's key for its batches; see vault/audit-writer.ts. */
  writer: { readonly certificate: SignedText; sign(text: Uint8Array): Uint8Array };
  clock: Clock;
  logger: Logger;
  /** Signatures per minute of one AuditEntry.limitId, over all replicas. */
  signaturesPerMinute: number;
  /** Called for each signature that a budget refuses. */
  onBudgetExceeded?: (window: BudgetWindow) => void;
  /** Called where another writer changed this process's chain. */
  onAlarm?: () => void;
}

/** The place of a decision in the log. */
export type AuditReceipt = AuditHead;

export interface AuditLog {
  /**
   * Rejects early, without a record, what was over its limit in this minute already. Counts the request as
   * under way until the returned function is called: no more requests begin at once than the limit allows.
   * Errors: RateLimited.
   */
  requireWithinLimit(limitId: string): () => void;
  /** Counts a refusal in a limit of signatures per minute, whether it is recorded or not. */
  noteRefusal(limitId: string): void;
  /**
   * Resolves once the record and the reservation are durable. Where a budget refuses, the refusal is recorded
   * unless `takeRefusalSlot` returns false. Errors: RateLimited at the limit of signatures per minute,
   * SigningRefused (BudgetExceeded), Unavailable where nothing could be written.
   */
  append(entry: AuditEntry, reservation?: Reservation, takeRefusalSlot?: () => boolean): Promise<AuditReceipt>;
  /** Where this process's chain ends; undefined before its first record, and after a commit that failed. */
  head(): AuditHead | undefined;
}

interface Waiting extends Decision {
  takeRefusalSlot: (() => boolean) | undefined;
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
/** Older decisions are not written: to the verifier, records much older than their checkpoint are forged. */
const MAX_ENTRY_AGE_MS = 20_000;

/**
 * Keeps one chain of records for this process. Records that arrive while a commit is in progress share the
 * next one, so that durability costs one flush per batch and not one per signature. After a failed commit the
 * chain is given up and a new one begins: committed records of the old one stay provable.
 */
export function createAuditLog(options: AuditLogOptions): AuditLog {
  const { store, writer, clock, logger, signaturesPerMinute, onBudgetExceeded = () => undefined } = options;
  const queue: Waiting[] = [];
  let head: AuditHead | undefined;
  /** When the chain was begun or last written. */
  let usedAt = 0;
  let running = false;
  const limit = createSignatureLimit(clock, signaturesPerMinute);

  async function begin(): Promise<AuditHead> {
    const chainId = uuidv7(clock);
    const started = { chainId, sequence: 0n, hash: genesisHash(chainId) };
    await store.startChain(started, clock.now(), writer.certificate);
    return started;
  }

  function signBatch(current: AuditHead, records: readonly AuditRecord[]): SignedBatch {
    if (records.length === 0) return { records, signature: new Uint8Array() };
    const place = { chainId: current.chainId, first: records[0]!.sequence, last: records.at(-1)!.sequence };
    const hashes = Buffer.from(records.map(({ hash }) => hash).join(""), "hex");
    return { records, signature: writer.sign(batchText({ ...place, previousHash: current.hash }, hashes)) };
  }

  /**
   * Writes records as they were decided; only where a limit is passed, which is rare, with the verdicts that
   * follow from the limits.
   */
  async function write(current: AuditHead, batch: readonly Waiting[], minute: Date): Promise<Written> {
    const entries = batch.map(({ entry }) => entry);
    const counts = new Map<string, number>();
    // Refusals count as well: they cost as much, and a script that is refused costs the most.
    for (const { limitId } of entries) {
      if (limitId !== "") counts.set(limitId, (counts.get(limitId) ?? 0) + 1);
    }
    const counted = { minute, counts, limit: signaturesPerMinute };
    const reservations = mergeReservations(batch.flatMap(({ reservation }) => reservation ?? []));
    const decided = chainRecords(current, entries);
    const signed = signBatch(current, decided);
    if (await store.commit(current, signed, { counted, reservations })) return { records: decided, full: new Map() };

    let written: Written = { records: decided, full: new Map() };
    await store.commitWithinLimits(current, { counted, reservations }, async (reached, budgets) => {
      const { verdicts, reservations: allowed, full } = applyLimits(batch, counted, reached, budgets);
      const limited = batch.map(({ entry, takeRefusalSlot }, i): AuditEntry | undefined => {
        const verdict = verdicts[i]!;
        return verdict === "BudgetExceeded" && takeRefusalSlot?.() === false ? undefined : { ...entry, verdict };
      });
      const records = chainRecords(
        current,
        limited.filter((entry) => entry !== undefined),
      );
      const inTurn = records.values();
      written = { records: limited.map((entry) => entry && inTurn.next().value), full };
      return { batch: signBatch(current, records), reservations: allowed };
    });
    return written;
  }

  /** Returns the error of a signature that the rules had allowed and a limit refuses. */
  function refusal({ entry, reservation }: Waiting, verdict: string, minute: Date, { full }: Written): AppError {
    if (verdict === "RateLimited") return limit.reject(entry.limitId, minute);
    const window = full.get(reservationId(reservation!))!;
    onBudgetExceeded(window);
    return budgetExceeded(window);
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const minute = minuteOf(clock.now());
    const now = clock.now().getTime();
    // A chain that was quiet is closed, and the database accepts no more of it.
    if (now - usedAt > LEAVE_CHAIN_AFTER_MS) head = undefined;
    if (!head) {
      head = await begin();
      usedAt = now;
    }
    const written = await write(head, batch, minute);
    const last = written.records.findLast((record) => record !== undefined);
    if (last) {
      head = { chainId: last.chainId, sequence: last.sequence, hash: last.hash };
      usedAt = now;
    }
    batch.forEach((waiting, i) => {
      const record = written.records[i];
      if (record?.verdict === waiting.entry.verdict) {
        const { chainId, sequence, hash } = record;
        waiting.resolve({ chainId, sequence, hash });
      } else waiting.reject(refusal(waiting, record?.verdict ?? "BudgetExceeded", minute, written));
    });
  }

  /** Rejects decisions that are too old: this process had stopped for a while. */
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
    // Requests of the same message of a stream share a commit.
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
    requireWithinLimit: limit.requireWithinLimit,
    noteRefusal: limit.noteRefusal,
    append: (entry, reservation, takeRefusalSlot) =>
      new Promise((resolve, reject) => {
        queue.push({ entry, reservation, takeRefusalSlot, resolve, reject });
        if (!running) void drain();
      }),
    head: () => head,
  };
}
