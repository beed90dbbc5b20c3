import { AppError } from "@countersign/core";
import type { AuditPublicKeys } from "../../audit/audit-key.ts";
import { type AuditReport, verifyExport } from "../../audit/verify-export.ts";

export interface ReadAuditOptions {
  /** The lines of an export, as they are in the database. */
  exportLines(): AsyncIterable<string>;
  /** The public halves of the audit key, which a rotation adds to. */
  auditKeys(): AuditPublicKeys;
  pause(ms: number, signal: AbortSignal): Promise<unknown>;
}

/** Lines that are read before others may run: this process also signs. */
const LINES_AT_ONCE = 500;
const PROGRESS_MS = 1_000;

/** Yields the lines of an export, some at once. */
async function* linesOf({ exportLines }: Pick<ReadAuditOptions, "exportLines">): AsyncGenerator<string[]> {
  let lines: string[] = [];
  for await (const line of exportLines()) {
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
  readonly report?: AuditReport;
}

/**
 * Reads the audit log of the database, one reader at a time in this process. `exportAudit` yields its lines.
 * `verifyAudit` verifies it against its own checkpoints and the vault's audit keys; an auditor compares with
 * checkpoints that were kept elsewhere: `signer audit verify`.
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
  async function* verify(signal: AbortSignal): AsyncGenerator<VerifiedSoFar> {
    let lines = 0n;
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for await (const some of linesOf(options)) {
        signal.throwIfAborted();
        lines += BigInt(some.length);
        yield Buffer.from(`${some.join("\n")}\n`);
      }
    }
    const verifying = verifyExport(chunks(), { keys: options.auditKeys() });
    // It may reject after the caller has gone.
    verifying.catch(() => undefined);
    for (;;) {
      const report = await Promise.race([verifying, options.pause(PROGRESS_MS, signal).then(() => undefined)]);
      signal.throwIfAborted();
      if (report) return yield { lines, report };
      yield { lines };
    }
  }
  return {
    exportAudit: () => alone(() => linesOf(options)),
    verifyAudit: (signal: AbortSignal) => alone(() => verify(signal)),
  };
}
