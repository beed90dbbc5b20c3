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
import { type KnownCheckpoints, type StatedRestore, verifyCheckpointsInTurns } from "./verify-checkpoints.ts";

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
  readonly elsewhere?: readonly { readonly name: string; readonly checkpoints: Iterable<SignedCheckpoint> }[];
  readonly keys: AuditPublicKeys;
}

/** The files before. */
export interface Before {
  /** The chains that they closed, and all that they have. */
  readonly closed: Set<string>;
  readonly chains: Set<string>;
}

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
  const problems: string[] = [];
  const exported: SignedCheckpoint[] = [];
  const seen = new Set<string>();
  let begins: ArchiveStatement | undefined;
  let until: number | undefined;
  let known: KnownCheckpoints | undefined;
  let chain: ChainCheck | undefined;
  const starts = new Map<string, OpenHead>();
  const ends: OpenHead[] = [];
  const digest = createHash("sha256");
  let [records, uncovered, lines, ended] = [0, 0, 0, false];

  const lookAtCheckpoints = async (): Promise<void> => {
    known ??= await verifyCheckpointsInTurns(
      [{ name: "export", checkpoints: exported }, ...(options.elsewhere ?? [])],
      options.keys,
      { begins, until, closedBefore: before.closed },
    );
  };
  // They come before all that needs them.
  const verifiedCheckpoints = () => known!;
  const lastTime = (): Date | undefined => known?.last?.time ?? begins?.time;
  const reportProblem = (checked: ChainCheck, problem: string): void => {
    if (problem === "") return;
    problems.push(`chain ${checked.chainId}: ${problem}`);
    checked.broken = true;
  };

  const begin = (line: string): void => {
    const match = CHAIN.exec(line);
    const signed = match && parseSignedLine(match[4]!);
    if (!match || !signed) return void problems.push(`line ${lines} is unreadable`);
    const [, chainId, size, headHash] = match as unknown as [string, string, string, string];
    if (seen.has(chainId)) problems.push(`chain ${chainId} is there twice`);
    seen.add(chainId);
    const writer = readCertificate(signed, options.keys);
    const { kept = Number.POSITIVE_INFINITY } = verifiedCheckpoints().restored.get(chainId) ?? {};
    const archived = starts.get(chainId);
    const covered = verifiedCheckpoints().heads.get(chainId) ?? [];
    const heads = covered.filter((head) => head.size > (archived?.size ?? 0) && head.size <= kept);
    const claimed = { chainId, headSize: Number(size), headHash, heads, lastTime: lastTime() };
    chain = beginChain({ ...claimed, writer: writer ?? NO_WRITER }, archived);
    // Of a chain without records, nothing is claimed.
    if (!writer && chain.headSize > 0)
      reportProblem(
        chain,
        signed.text === "" ? "its records are not signed" : "the audit key has not certified its writer",
      );
  };

  const pass = (checked: ChainCheck, line: Buffer): void => {
    records += 1;
    if (!checked.broken) reportProblem(checked, takeRecord(checked, line));
  };
  const finish = (checked: ChainCheck): void => {
    if (checked.broken) return;
    const { chainId, sequence: size, previousHash: hash, tree } = checked;
    const isClosed = verifiedCheckpoints().closed.has(chainId);
    const restored = verifiedCheckpoints().restored.get(chainId);
    for (const problem of endProblems(checked, isClosed, restored)) reportProblem(checked, problem);
    if (restored || checked.broken) return;
    uncovered += countUncovered(checked);
    if (!isClosed && size > 0) ends.push({ chainId, size, hash, tree });
  };

  /** Takes the lines that say which part of the log this is. */
  const takeRange = (text: string): boolean => {
    const signed = text.startsWith(BEGIN) && !begins ? parseSignedLine(text.slice(BEGIN.length)) : undefined;
    if (signed) {
      begins = readArchive(signed, options.keys);
      if (!begins) problems.push("the audit key has not signed the statement about the archive before");
      for (const head of begins?.heads ?? []) starts.set(head.chainId, head);
      return true;
    }
    const last = until === undefined && UNTIL.exec(text)?.[1];
    if (last) until = Number(last);
    return Boolean(last);
  };

  const take = (line: Buffer): void => {
    lines += 1;
    if (lines === 1) return;
    if (ended) problems.push(`line ${lines} stands behind the end`);
    else if (chain && isRecord(line)) pass(chain, line);
    else {
      const text = line.toString();
      const batch = chain && BATCH.exec(text);
      if (chain && batch) {
        if (!chain.broken) reportProblem(chain, endBatch(chain, batch));
        return;
      }
      if (chain) finish(chain);
      chain = undefined;
      if (text === "end") ended = true;
      else if (text.startsWith("chain ")) begin(text);
      else {
        const signed = text.startsWith(CHECKPOINT) ? parseSignedLine(text.slice(CHECKPOINT.length)) : undefined;
        if (signed && !known) exported.push(signed);
        else if (known || exported.length > 0 || !takeRange(text)) problems.push(`line ${lines} is unreadable`);
      }
    }
  };

  async function* noted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      digest.update(chunk);
      yield chunk;
    }
  }
  for await (const some of splitLines(noted())) {
    if (lines === 0 && some.length > 0 && some[0]!.toString() !== EXPORT_FORMAT)
      return { ...NOTHING, problems: ["this is no export of an audit log"], sha256: "" };
    for (const line of some) {
      if (!known && isAfterCheckpoints(line)) await lookAtCheckpoints();
      take(line);
    }
  }
  await lookAtCheckpoints();
  if (chain) finish(chain);
  if (!ended) problems.push("the export is cut off: its last line is not `end`");
  const { problems: wrong, heads, closed, count, last, lastHash, restored } = verifiedCheckpoints();
  for (const chainId of new Set([...heads.keys(), ...restored.keys()])) {
    if (!seen.has(chainId) && restored.get(chainId)?.kept !== 0) problems.push(`chain ${chainId} is missing`);
  }
  const losses = [...restored.values()].flatMap(({ chainId, size, kept, statement }) =>
    kept < size ? [{ chainId, first: kept + 1, last: size, statement }] : [],
  );
  if (until !== undefined && last?.sequence !== until)
    problems.push(`the archive does not end with checkpoint ${until}`);
  if (until !== undefined && uncovered > 0)
    problems.push(`${uncovered} records are behind checkpoint ${until}, with which the archive ends`);
  for (const chainId of closed) before.closed.add(chainId);
  for (const chainId of seen) before.chains.add(chainId);
  const open = ends.sort((a, b) => (a.chainId < b.chainId ? -1 : 1));
  return {
    problems: [...wrong, ...problems],
    records,
    chains: seen.size,
    checkpoints: count,
    uncovered,
    until: lastTime(),
    losses,
    begins,
    end: until === undefined || !last ? undefined : { sequence: until, hash: lastHash, time: last.time, heads: open },
    sha256: digest.digest("hex"),
  };
}
