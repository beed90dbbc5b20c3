import { type Administrator, AppError } from "@countersign/core";
import { archivedLine } from "../../audit/archive.ts";
import { CHECKPOINT } from "../../audit/export-lines.ts";
import { verifyExport } from "../../audit/verify-export.ts";
import type { AuditReport } from "../../audit/verify-file.ts";
import { type ArchiveFile, endBefore, type Removal } from "./archive-audit.ts";
import {
  decideRemoval,
  type RemovalDecision,
  type RemovalOptions,
  removeArchived,
  requestRemoval,
} from "./remove-audit.ts";

export interface ReadAuditOptions extends RemovalOptions {
  /** The lines of an export, as they are in the database; those up to a checkpoint are an archive's. */
  exportLines(until?: number): AsyncIterable<string>;
  pause(ms: number, signal: AbortSignal): Promise<unknown>;
}

/** Lines that are read before others may run: this process also signs. */
const LINES_AT_ONCE = 500;
const PROGRESS_MS = 1_000;
/** A verification keeps them in memory, 2 KB each: more than these would end this process. */
const MAX_CHECKPOINTS = 100_000;

/** Yields the lines of an export, some at once. */
async function* linesOf(
  { exportLines }: Pick<ReadAuditOptions, "exportLines">,
  until?: number,
): AsyncGenerator<string[]> {
  let lines: string[] = [];
  for await (const line of exportLines(until)) {
    lines.push(line);
    if (lines.length < LINES_AT_ONCE) continue;
    yield lines;
    lines = [];
  }
  if (lines.length > 0) yield lines;
}

/** How far a verification is; the last one has the report. */
export interface VerifiedSoFar {
  readonly lines: bigint;
  /** `archived`: a line about the part that is not in the database, or nothing. */
  readonly report?: AuditReport & { readonly archived: string };
}

/** How far a removal is. */
export interface RemovedSoFar {
  readonly lines: bigint;
  readonly rows: bigint;
  /** The request that another person must approve. */
  readonly requestId?: string;
  /** Of the record of a rejection. */
  readonly actionId?: string;
}

/**
 * Reads the audit log of the database, one reader at a time in this process. `exportAudit` yields its lines,
 * or those of an archive of all before a time. `verifyAudit` verifies it against its own checkpoints and the
 * vault's audit keys; an auditor compares with checkpoints that were kept elsewhere: `signer audit verify`.
 * `removeAudit` asks another person to take an archive out of the database, and continues what was
 * approved; `decideRequest` approves or rejects.
 * Errors: RateLimited while another one reads.
 */
export function auditReading(options: ReadAuditOptions) {
  let isRunning = false;
  async function* alone<T>(read: () => AsyncIterable<T>): AsyncGenerator<T> {
    if (isRunning) throw new AppError("RateLimited", { detail: "Somebody else reads the audit log" });
    isRunning = true;
    try {
      yield* read();
    } finally {
      isRunning = false;
    }
  }
  async function* archived(before: Date): AsyncGenerator<string[]> {
    yield* linesOf(options, await endBefore(options, before));
  }
  async function* remove(by: Administrator, removal: Removal, signal: AbortSignal): AsyncGenerator<RemovedSoFar> {
    let [lines, rows] = [0n, 0n];
    async function* verifying() {
      for await (const soFar of verify(signal, removal.file.sequence)) {
        lines = soFar.lines;
        yield soFar.report;
      }
    }
    const pause = (ms: number) => options.pause(ms, signal);
    for await (const count of removeArchived(options, by, removal, verifying, pause)) {
      signal.throwIfAborted();
      rows += BigInt(count);
      yield { lines, rows };
    }
  }
  async function* removeAudit(by: Administrator, file: ArchiveFile, signal: AbortSignal): AsyncGenerator<RemovedSoFar> {
    const requestId = await requestRemoval(options, by, file);
    if (requestId === undefined) yield* alone(() => remove(by, { file }, signal));
    else yield { lines: 0n, rows: 0n, requestId };
  }
  async function* decideRequest(
    by: Administrator,
    decision: RemovalDecision,
    signal: AbortSignal,
  ): AsyncGenerator<RemovedSoFar> {
    const decided = await decideRemoval(options, by, decision);
    if (typeof decided === "string") yield { lines: 0n, rows: 0n, actionId: decided };
    else yield* alone(() => remove(by, decided, signal));
  }
  async function* verify(signal: AbortSignal, until?: number): AsyncGenerator<VerifiedSoFar> {
    let lines = 0n;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for await (const some of linesOf(options, until)) {
        signal.throwIfAborted();
        lines += BigInt(some.length);
        if (lines > MAX_CHECKPOINTS && some.at(-1)?.startsWith(CHECKPOINT))
          throw new AppError("InvalidRequest", { detail: `more than ${MAX_CHECKPOINTS} checkpoints: export the log` });
        yield Buffer.from(`${some.join("\n")}\n`);
      }
    }
    const verifying = verifyExport(chunks(), { keys: options.auditSigner.keys });
    // It may reject after the caller has gone.
    verifying.catch(() => undefined);
    for (;;) {
      const report = await Promise.race([verifying, options.pause(PROGRESS_MS, signal).then(() => undefined)]);
      signal.throwIfAborted();
      if (report) {
        const archived = report.begins ? archivedLine(report.begins) : "";
        return yield { lines, report: { ...report, archived } };
      }
      yield { lines };
    }
  }
  return {
    exportAudit: (before?: Date) => alone(() => (before ? archived(before) : linesOf(options))),
    removeAudit,
    decideRequest,
    verifyAudit: (signal: AbortSignal) => alone(() => verify(signal)),
  };
}
