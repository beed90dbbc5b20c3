import { createHash, hash } from "node:crypto";
import { type ArchiveStatement, isSameEnd, type LogEnd, type OpenHead, readArchive } from "./archive.ts";
import type { AuditPublicKeys } from "./audit-key.ts";
import { readCertificate, verifyBatch, type WriterCertificate } from "./batch.ts";
import type { SignedCheckpoint, SignedHead } from "./checkpoint.ts";
import { parseSignedLine } from "./checkpoint-file.ts";
import { genesisHash } from "./record.ts";
import { EMPTY_TREE, growTree, type Tree, treeRoot } from "./tree.ts";
import {
  type CoveredHead,
  type KnownCheckpoints,
  RECORD_TIME_TOLERANCE_MS,
  type StatedRestore,
  verifyCheckpointsInTurns,
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
  readonly elsewhere?: readonly { readonly name: string; readonly checkpoints: Iterable<SignedCheckpoint> }[];
  readonly keys: AuditPublicKeys;
}

export const EXPORT_FORMAT = "countersign-audit-export-2";
const BEGIN = "begin ";
const UNTIL = /^until (\d{1,15})$/;
const CHECKPOINT = "checkpoint ";
const CHAIN = /^chain ([0-9a-f-]{36}) (\d{1,15}) ([0-9a-f]{64}) (\{.*\})$/;
const BATCH_LINE = /^batch (\d{1,15}) (\S{24}) ([0-9a-f]*)$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const NEWLINE_BYTE = 10;
const QUOTE_BYTE = 34;
const HASH_HEX_DIGITS = 64;
const RECORDS_PER_TREE_STEP = 1024;

/** Records that are in no batch yet. */
interface OpenBatch {
  readonly first: number;
  readonly previousHash: string;
  readonly hashes: Buffer[];
  latest: string;
}

/** A chain while its records are read. */
interface Passing {
  readonly chainId: string;
  readonly writer: WriterCertificate;
  readonly prefix: string;
  readonly headSize: number;
  readonly headHash: string;
  /** The heads of this chain in checkpoints; `nextHead` is the index of the one to reach next. */
  readonly heads: readonly CoveredHead[];
  nextHead: number;
  /** Between which times a record may be, as ISO texts, until the next head. */
  times: readonly [string, string];
  /** The last record that archives have. */
  readonly start: number;
  sequence: number;
  previousHash: string;
  batch: OpenBatch;
  /** Record hashes that are not in the tree yet. */
  waiting: Buffer[];
  tree: Tree;
  broken: boolean;
}

/** The files before. */
interface Before {
  /** The chains that they closed, and all that they have. */
  readonly closed: Set<string>;
  readonly chains: Set<string>;
}

/**
 * Checks archives in their order, and the export behind them (`countersign audit archive`, `audit export`),
 * or some of these, against checkpoints: a record changed, removed, moved, or added, records that no process
 * of the signer has signed, times that do not fit, a tail, a chain or a file that is missing, checkpoints
 * that contradict each other. Reads each file once, in memory of its checkpoints' size.
 */
export async function verifyExports(
  files: Iterable<AsyncIterable<Uint8Array>>,
  options: VerifyOptions,
): Promise<AuditReport> {
  const before: Before = { closed: new Set(), chains: new Set() };
  const found: [file: number, problem: string][] = [];
  let [report, count]: [AuditReport | undefined, number] = [undefined, 0];
  for (const file of files) {
    count += 1;
    const next: AuditReport = await verifyFile(file, options, before);
    const link = report && linkProblem(report, next);
    for (const problem of link ? [link, ...next.problems] : next.problems) found.push([count, problem]);
    report = report
      ? {
          ...next,
          records: report.records + next.records,
          chains: before.chains.size,
          checkpoints: report.checkpoints + next.checkpoints,
          until: next.until ?? report.until,
          losses: [...report.losses, ...next.losses],
          begins: report.begins,
        }
      : next;
  }
  const problems = found.map(([file, problem]) => (count > 1 ? `file ${file}: ${problem}` : problem));
  return { ...(report ?? { ...NOTHING, sha256: "" }), problems };
}

/** Checks one export: see verifyExports. */
export const verifyExport = (chunks: AsyncIterable<Uint8Array>, options: VerifyOptions): Promise<AuditReport> =>
  verifyExports([chunks], options);

/** Returns what is wrong between two files; "" where the second continues the first. */
function linkProblem(previous: AuditReport, { begins }: AuditReport): string {
  const { end, sha256 } = previous;
  if (!end) return "the file before is no archive that another file continues";
  if (!begins) return "it begins with the first record, and not behind the archive before";
  if (begins.sequence > end.sequence)
    return `the archive of checkpoints ${end.sequence + 1} to ${begins.sequence} is missing`;
  if (begins.sequence < end.sequence)
    return `it begins behind checkpoint ${begins.sequence}, which the file before is already behind`;
  if (begins.sha256 !== sha256) return "the archive before is not the file that was taken out of the database";
  return isSameEnd(begins, end) ? "" : "it continues another log than that of the archive before";
}

async function verifyFile(
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
  let chain: Passing | undefined;
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
  const reportProblem = (passing: Passing, problem: string): void => {
    if (problem === "") return;
    problems.push(`chain ${passing.chainId}: ${problem}`);
    passing.broken = true;
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
    const start = starts.get(chainId) ?? { size: 0, hash: genesisHash(chainId), tree: EMPTY_TREE };
    const covered = verifiedCheckpoints().heads.get(chainId) ?? [];
    const heads = covered.filter(({ size }) => size > start.size && size <= kept);
    chain = {
      chainId,
      writer: writer ?? NO_WRITER,
      prefix: `["countersign-audit-1","${chainId}","`,
      headSize: Number(size),
      headHash,
      heads,
      nextHead: 0,
      times: timesOf(writer ?? NO_WRITER, heads[0], lastTime()),
      start: start.size,
      sequence: start.size,
      previousHash: start.hash,
      batch: { first: start.size + 1, previousHash: start.hash, hashes: [], latest: "" },
      waiting: [],
      tree: start.tree,
      broken: false,
    };
    // Of a chain without records, nothing is claimed.
    if (!writer && chain.headSize > 0)
      reportProblem(
        chain,
        signed.text === "" ? "its records are not signed" : "the audit key has not certified its writer",
      );
  };

  const pass = (passing: Passing, line: Buffer): void => {
    records += 1;
    if (!passing.broken) reportProblem(passing, takeRecord(passing, line, lastTime()));
  };
  const finish = (passing: Passing): void => {
    if (passing.broken) return;
    reportProblem(passing, endProblem(passing));
    const restored = verifiedCheckpoints().restored.get(passing.chainId);
    if (restored) {
      const isKept =
        passing.sequence === restored.kept && (restored.kept === 0 || passing.previousHash === restored.keptHash);
      if (!isKept) reportProblem(passing, "it does not end where the statement about the restore says");
      return;
    }
    const added = passing.sequence - (passing.heads.at(-1)?.size ?? passing.start);
    const isClosed = verifiedCheckpoints().closed.has(passing.chainId);
    if (added > 0 && isClosed) reportProblem(passing, `its last ${added} records were added after it was closed`);
    if (passing.broken) return;
    uncovered += added;
    const { chainId, sequence: size, previousHash, tree } = passing;
    if (!isClosed && size > 0) ends.push({ chainId, size, hash: previousHash, tree });
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
    else if (line[HASH_HEX_DIGITS] === 32 && chain && line[HASH_HEX_DIGITS + 1] === 91) pass(chain, line);
    else {
      const text = line.toString();
      const batch = chain && BATCH_LINE.exec(text);
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

/** An unknown writer; its chain is not read further. */
const NO_WRITER: WriterCertificate = {
  writerId: "",
  startedAt: new Date(0),
  keyVersion: 0,
  publicKey: { algorithm: "ES256", publicKey: "" },
};
const NOTHING = {
  ...{ records: 0, chains: 0, checkpoints: 0, uncovered: 0 },
  ...{ until: undefined, losses: [], begins: undefined, end: undefined },
};

function growBy(passing: Passing): void {
  passing.tree = growTree(passing.tree, passing.waiting).tree;
  passing.waiting = [];
}

const FIRST_TIME = new Date(0).toISOString();
const LAST_TIME = "9999-12-31T23:59:59.999Z";

/** Returns the permitted times of records that `head` covers first, or that no checkpoint covers yet. */
function timesOf(
  { startedAt }: WriterCertificate,
  head: CoveredHead | undefined,
  lastCheckpoint: Date | undefined,
): readonly [string, string] {
  const previous = head ? head.previousTime : lastCheckpoint;
  const earliest = Math.max(startedAt.getTime(), previous?.getTime() ?? 0) - RECORD_TIME_TOLERANCE_MS;
  const from = earliest > 0 ? new Date(earliest).toISOString() : FIRST_TIME;
  return [from, head ? new Date(head.time.getTime() + RECORD_TIME_TOLERANCE_MS).toISOString() : LAST_TIME];
}

/** Compares the records since the batch before with the signature over them. */
function endBatch(passing: Passing, [, last, time, signature]: RegExpExecArray): string {
  const { chainId, sequence, previousHash, batch, writer } = passing;
  const records = `records ${batch.first} to ${sequence}`;
  if (Number(last) > sequence) return `record ${sequence + 1} is missing or moved`;
  if (Number(last) !== sequence || batch.hashes.length === 0) return `${records} are not a whole batch`;
  const place = { chainId, first: batch.first, last: sequence, previousHash: batch.previousHash };
  if (!verifyBatch(writer, place, Buffer.concat(batch.hashes), Buffer.from(signature!, "hex")))
    return `${records} were not signed by the process that began the chain`;
  passing.batch = { first: sequence + 1, previousHash, hashes: [], latest: "" };
  return time === batch.latest ? "" : `${records} are filed under another time than theirs`;
}

/** Puts the next record of a chain behind those before; gives "" or what is wrong with it. */
function takeRecord(passing: Passing, line: Buffer, lastCheckpoint: Date | undefined): string {
  const sequence = passing.sequence + 1;
  const text = line.subarray(HASH_HEX_DIGITS + 1);
  // Bytes are compared, not parsed: JSON escapes a quote within a string, so both ends can only be the fields
  // meant.
  const { prefix, previousHash } = passing;
  if (!hasAt(text, 0, prefix)) return `record ${sequence} is of another chain`;
  if (!hasAt(text, prefix.length, `${sequence}",`)) return `record ${sequence} is missing or moved`;
  if (text.toString("latin1", text.length - HASH_HEX_DIGITS - 4) !== `,"${previousHash}"]`)
    return `record ${sequence} does not follow the one before`;
  const digest = hash("sha256", text, "hex");
  if (line.toString("latin1", 0, HASH_HEX_DIGITS) !== digest) return `record ${sequence} was changed`;
  const timeAt = prefix.length + String(sequence).length + 3;
  const time = text.toString("latin1", timeAt, timeAt + 24);
  if (!TIME.test(time) || text[timeAt + 24] !== QUOTE_BYTE) return `record ${sequence} has no time`;
  if (time < passing.times[0]) return `record ${sequence} is of a time before the checkpoint that did not cover it yet`;
  if (time > passing.times[1]) return `record ${sequence} is of a time after the checkpoint that covers it`;
  passing.sequence = sequence;
  passing.previousHash = digest;
  const bytes = Buffer.from(digest, "hex");
  passing.batch.hashes.push(bytes);
  if (time > passing.batch.latest) passing.batch.latest = time;
  const head = passing.heads[passing.nextHead];
  if (!head) return "";
  passing.waiting.push(bytes);
  if (head.size === sequence) {
    passing.times = timesOf(passing.writer, passing.heads[passing.nextHead + 1], lastCheckpoint);
    return meetHead(passing, head);
  }
  if (passing.waiting.length === RECORDS_PER_TREE_STEP) growBy(passing);
  return "";
}

/** Compares the records so far with the checkpoint that names this place. */
function meetHead(passing: Passing, head: SignedHead): string {
  passing.nextHead += 1;
  growBy(passing);
  if (passing.previousHash !== head.hash) return `the records up to ${head.size} are not those signed for`;
  const root = treeRoot(passing.tree).toString("hex");
  return root === head.root ? "" : `the signed root at record ${head.size} is not that of the records`;
}

function endProblem({ sequence, batch, headSize, headHash, heads, previousHash }: Passing): string {
  const should = Math.max(heads.at(-1)?.size ?? 0, headSize);
  if (sequence < should) return `records ${sequence + 1} to ${should} are missing`;
  if (batch.hashes.length > 0) return `records ${batch.first} to ${sequence} are in no signed batch`;
  return sequence > headSize || previousHash !== headHash ? "its head is not its last record" : "";
}

const isAfterCheckpoints = (line: Buffer): boolean => hasAt(line, 0, "chain ") || hasAt(line, 0, "end");

const hasAt = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString("latin1", at, at + text.length) === text;

/** Yields lines without their ends, as many at once as there are; a last one without an end is given too. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE_BYTE); end >= 0; end = bytes.indexOf(NEWLINE_BYTE, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    yield lines;
  }
  if (rest.length > 0) yield [rest];
}
