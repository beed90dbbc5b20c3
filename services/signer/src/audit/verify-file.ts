import { createHash } from "node:crypto";
import { type ArchiveStatement, type LogEnd, type OpenHead, readArchive } from "./archive.ts";
import type { AuditPublicKeys } from "./audit-key.ts";
import { readCertificate, type WriterCertificate } from "./batch.ts";
import type { SignedCheckpoint } from "./checkpoint.ts";
import { parseSignedLine } from "./checkpoint-file.ts";
import {
  BATCH,
  BEGIN,
  CHAIN,
  CHECKPOINT,
  EXPORT_FORMAT,
  isAfterCheckpoints,
  isRecord,
  splitLines,
  UNTIL,
} from "./export-lines.ts";
import { beginChain, type ChainCheck, countUncovered, endBatch, endProblems, takeRecord } from "./verify-chain.ts";
import {
  type CheckpointPlace,
  type KnownCheckpoints,
  type StatedRestore,
  verifyCheckpoints,
} from "./verify-checkpoints.ts";

export interface AuditReport {
  /** Empty: everything is as it was signed. */
  readonly problems: readonly string[];
  readonly records: number;
  readonly chains: number;
  readonly checkpoints: number;
  /** Whole records that no checkpoint covers yet. */
  readonly uncovered: number;
  /** The newest checkpoint's time. */
  readonly until: Date | undefined;
  /** Records that an operator's signed statement says were lost in a restore of the database. */
  readonly losses: readonly Loss[];
  /** The statement about the archive before the first file, which was not given. */
  readonly begins: ArchiveStatement | undefined;
  /** Where the last file ends, if it is an archive: others follow. */
  readonly end: LogEnd | undefined;
  /** Of the last file, hex. */
  readonly sha256: string;
}

export interface Loss {
  readonly chainId: string;
  /** The first and the last record that is not there. */
  readonly first: number;
  readonly last: number;
  readonly statement: StatedRestore;
}

export interface VerifyOptions {
  /**
   * Checkpoints kept elsewhere. Without them a missing tail is not found where records and checkpoints of the
   * database were rewritten together.
   */
  readonly elsewhere?: readonly CheckpointPlace[];
  readonly keys: AuditPublicKeys;
}

/** The files before. */
export interface Before {
  /** The chains that they closed, and all that they have. */
  readonly closed: Set<string>;
  readonly chains: Set<string>;
}

/** One changed row makes all lines of a long chain unreadable. */
const MAX_PROBLEMS = 1_000;
/** An unknown writer; its chain is not read further. */
const NO_WRITER: WriterCertificate = {
  writerId: "",
  startedAt: new Date(0),
  keyVersion: 0,
  publicKey: { algorithm: "ES256", publicKey: "" },
};
/** The counts of a report about nothing. */
export const NOTHING = {
  ...{ records: 0, chains: 0, checkpoints: 0, uncovered: 0 },
  ...{ until: undefined, losses: [], begins: undefined, end: undefined },
};

/** Checks one file of a log, behind those before: see verifyExports. */
export async function verifyFile(
  chunks: AsyncIterable<Uint8Array>,
  options: VerifyOptions,
  before: Before,
): Promise<AuditReport> {
  const file = new FileCheck(options, before);
  const digest = createHash("sha256");
  async function* digested(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      digest.update(chunk);
      yield chunk;
    }
  }
  let isFirst = true;
  for await (const lines of splitLines(digested())) {
    for (const line of lines) {
      if (isFirst && line.toString() !== EXPORT_FORMAT)
        return { ...NOTHING, problems: ["this is no export of an audit log"], sha256: "" };
      isFirst = false;
      if (file.needsCheckpoints(line)) await file.verifyCheckpoints();
      file.take(line);
    }
  }
  return { ...(await file.report()), sha256: digest.digest("hex") };
}

/** Reads a file's lines in their order: format, range, checkpoints, then each chain with its records, end. */
class FileCheck {
  readonly #options: VerifyOptions;
  readonly #before: Before;
  readonly #problems: string[] = [];
  #lines = 0;
  #ended = false;

  #begins: ArchiveStatement | undefined;
  /** The checkpoint with which an archive ends. */
  #until: number | undefined;
  readonly #exported: SignedCheckpoint[] = [];
  /** Verified before the first chain, since all chains are compared with them. */
  #verified: KnownCheckpoints | undefined;

  /** The chain whose records are read. */
  #chain: ChainCheck | undefined;
  readonly #seen = new Set<string>();
  /** Where chains go on whose first records are in the archive before. */
  readonly #starts = new Map<string, OpenHead>();
  /** Where open chains end. */
  readonly #ends: OpenHead[] = [];
  #records = 0;
  #uncovered = 0;

  constructor(options: VerifyOptions, before: Before) {
    this.#options = options;
    this.#before = before;
  }

  /** Whether the checkpoints have to be verified before this line is taken. */
  needsCheckpoints(line: Buffer): boolean {
    return !this.#verified && isAfterCheckpoints(line);
  }

  async verifyCheckpoints(): Promise<void> {
    const { keys, elsewhere = [] } = this.#options;
    this.#verified ??= await verifyCheckpoints([{ name: "export", checkpoints: this.#exported }, ...elsewhere], keys, {
      begins: this.#begins,
      until: this.#until,
      closedBefore: this.#before.closed,
    });
  }

  take(line: Buffer): void {
    this.#lines += 1;
    if (this.#lines === 1) return;
    if (this.#ended) this.#reportLine("stands behind the end");
    else if (this.#chain && isRecord(line)) this.#takeRecord(this.#chain, line);
    else this.#takeText(line.toString());
  }

  #takeText(text: string): void {
    const batch = this.#chain && BATCH.exec(text);
    if (this.#chain && batch) {
      if (!this.#chain.broken) this.#reportProblem(this.#chain, endBatch(this.#chain, batch));
      return;
    }
    if (this.#chain) this.#endChain(this.#chain);
    this.#chain = undefined;
    if (text === "end") this.#ended = true;
    else if (text.startsWith("chain ")) this.#beginChain(text);
    else if (!this.#takeCheckpoint(text) && !this.#takeRange(text)) this.#reportLine();
  }

  #takeCheckpoint(text: string): boolean {
    const signed = text.startsWith(CHECKPOINT) ? parseSignedLine(text.slice(CHECKPOINT.length)) : undefined;
    if (!signed || this.#verified) return false;
    this.#exported.push(signed);
    return true;
  }

  /** Takes the lines that say which part of the log this is; they come before the checkpoints. */
  #takeRange(text: string): boolean {
    if (this.#verified || this.#exported.length > 0) return false;
    const signed = text.startsWith(BEGIN) && !this.#begins ? parseSignedLine(text.slice(BEGIN.length)) : undefined;
    if (signed) {
      this.#begins = readArchive(signed, this.#options.keys);
      if (!this.#begins) this.#problems.push("the audit key has not signed the statement about the archive before");
      for (const head of this.#begins?.heads ?? []) this.#starts.set(head.chainId, head);
      return true;
    }
    const last = this.#until === undefined && UNTIL.exec(text)?.[1];
    if (last) this.#until = Number(last);
    return Boolean(last);
  }

  #beginChain(line: string): void {
    const match = CHAIN.exec(line);
    const signed = match && parseSignedLine(match[4]!);
    if (!match || !signed) return void this.#reportLine();
    const [, chainId, size, headHash] = match as unknown as [string, string, string, string];
    if (this.#seen.has(chainId)) this.#problems.push(`chain ${chainId} is there twice`);
    this.#seen.add(chainId);
    const writer = readCertificate(signed, this.#options.keys);
    const verified = this.#checkpoints();
    const { kept = Number.POSITIVE_INFINITY } = verified.restored.get(chainId) ?? {};
    const archived = this.#starts.get(chainId);
    const covered = verified.heads.get(chainId) ?? [];
    const heads = covered.filter((head) => head.size > (archived?.size ?? 0) && head.size <= kept);
    const claimed = { chainId, headSize: Number(size), headHash, heads, lastTime: this.#lastTime() };
    this.#chain = beginChain({ ...claimed, writer: writer ?? NO_WRITER }, archived);
    // Of a chain without records, nothing is claimed.
    if (!writer && this.#chain.headSize > 0)
      this.#reportProblem(
        this.#chain,
        signed.text === "" ? "its records are not signed" : "the audit key has not certified its writer",
      );
  }

  #takeRecord(chain: ChainCheck, line: Buffer): void {
    this.#records += 1;
    if (!chain.broken) this.#reportProblem(chain, takeRecord(chain, line));
  }

  #endChain(chain: ChainCheck): void {
    if (chain.broken) return;
    const { chainId, sequence: size, previousHash: hash, tree } = chain;
    const isClosed = this.#checkpoints().closed.has(chainId);
    const restored = this.#checkpoints().restored.get(chainId);
    for (const problem of endProblems(chain, isClosed, restored)) this.#reportProblem(chain, problem);
    if (restored || chain.broken) return;
    this.#uncovered += countUncovered(chain);
    if (!isClosed && size > 0) this.#ends.push({ chainId, size, hash, tree });
  }

  /** Ends the file. Returns what was found, without the file's hash. */
  async report(): Promise<Omit<AuditReport, "sha256">> {
    await this.verifyCheckpoints();
    if (this.#chain) this.#endChain(this.#chain);
    const { problems, heads, closed, count, last, lastHash, restored } = this.#checkpoints();
    const until = this.#until;
    if (!this.#ended) this.#problems.push("the export is cut off: its last line is not `end`");
    for (const chainId of new Set([...heads.keys(), ...restored.keys()])) {
      if (!this.#seen.has(chainId) && restored.get(chainId)?.kept !== 0)
        this.#problems.push(`chain ${chainId} is missing`);
    }
    if (until !== undefined && last?.sequence !== until)
      this.#problems.push(`the archive does not end with checkpoint ${until}`);
    if (until !== undefined && this.#uncovered > 0)
      this.#problems.push(`${this.#uncovered} records are behind checkpoint ${until}, with which the archive ends`);
    for (const chainId of closed) this.#before.closed.add(chainId);
    for (const chainId of this.#seen) this.#before.chains.add(chainId);
    const open = this.#ends.sort((a, b) => (a.chainId < b.chainId ? -1 : 1));
    return {
      problems: [...problems, ...this.#problems],
      records: this.#records,
      chains: this.#seen.size,
      checkpoints: count,
      uncovered: this.#uncovered,
      until: this.#lastTime(),
      losses: [...restored.values()].flatMap(({ chainId, size, kept, statement }) =>
        kept < size ? [{ chainId, first: kept + 1, last: size, statement }] : [],
      ),
      begins: this.#begins,
      end: until === undefined || !last ? undefined : { sequence: until, hash: lastHash, time: last.time, heads: open },
    };
  }

  /** The verified checkpoints: they come before all that asks for them. */
  #checkpoints(): KnownCheckpoints {
    return this.#verified!;
  }

  #lastTime(): Date | undefined {
    return this.#verified?.last?.time ?? this.#begins?.time;
  }

  #reportLine(problem = "is unreadable"): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(`line ${this.#lines} ${problem}`);
  }

  #reportProblem(chain: ChainCheck, problem: string): void {
    if (problem === "") return;
    this.#problems.push(`chain ${chain.chainId}: ${problem}`);
    chain.broken = true;
  }
}
