import { hash } from "node:crypto";
import type { OpenHead } from "./archive.ts";
import { verifyBatch, type WriterCertificate } from "./batch.ts";
import type { RestoredEnd, SignedHead } from "./checkpoint.ts";
import { HASH_HEX_DIGITS, hasAt } from "./export-lines.ts";
import { genesisHash } from "./record.ts";
import { EMPTY_TREE, growTree, type Tree, treeRoot } from "./tree.ts";
import { type CoveredHead, RECORD_TIME_TOLERANCE_MS } from "./verify-checkpoints.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const QUOTE_BYTE = 34;
const RECORDS_PER_TREE_STEP = 1024;
const FIRST_TIME = new Date(0).toISOString();
const LAST_TIME = "9999-12-31T23:59:59.999Z";

/** Records that are in no batch yet. */
interface OpenBatch {
  readonly first: number;
  readonly previousHash: string;
  readonly hashes: Buffer[];
  latest: string;
}

/** A chain as an export and its checkpoints describe it. */
export interface ClaimedChain {
  readonly chainId: string;
  readonly writer: WriterCertificate;
  readonly headSize: number;
  readonly headHash: string;
  /** The heads of this chain in checkpoints. */
  readonly heads: readonly CoveredHead[];
  /** Of the last checkpoint. */
  readonly lastTime: Date | undefined;
}

/** A chain while its records are verified. */
export interface ChainCheck extends ClaimedChain {
  readonly prefix: string;
  /** The index of the head to reach next. */
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

/** Begins to verify a chain, behind the part that archives have. */
export function beginChain(chain: ClaimedChain, archived: OpenHead | undefined): ChainCheck {
  const { chainId } = chain;
  const start = archived ?? { size: 0, hash: genesisHash(chainId), tree: EMPTY_TREE };
  return {
    ...chain,
    prefix: `["countersign-audit-1","${chainId}","`,
    nextHead: 0,
    times: timesOf(chain, 0),
    start: start.size,
    sequence: start.size,
    previousHash: start.hash,
    batch: { first: start.size + 1, previousHash: start.hash, hashes: [], latest: "" },
    waiting: [],
    tree: start.tree,
    broken: false,
  };
}

/** Returns the permitted times of records that a head covers first, or that no checkpoint covers yet. */
function timesOf({ writer, heads, lastTime }: ClaimedChain, nextHead: number): readonly [string, string] {
  const head = heads[nextHead];
  const previous = head ? head.previousTime : lastTime;
  const earliest = Math.max(writer.startedAt.getTime(), previous?.getTime() ?? 0) - RECORD_TIME_TOLERANCE_MS;
  const from = earliest > 0 ? new Date(earliest).toISOString() : FIRST_TIME;
  return [from, head ? new Date(head.time.getTime() + RECORD_TIME_TOLERANCE_MS).toISOString() : LAST_TIME];
}

/** Puts the next record of a chain behind those before; returns "" or what is wrong with it. */
export function takeRecord(chain: ChainCheck, line: Buffer): string {
  const sequence = chain.sequence + 1;
  const text = line.subarray(HASH_HEX_DIGITS + 1);
  // Bytes are compared, not parsed: JSON escapes a quote within a string, so both ends can only be the fields
  // meant.
  const { prefix, previousHash } = chain;
  if (!hasAt(text, 0, prefix)) return `record ${sequence} is of another chain`;
  if (!hasAt(text, prefix.length, `${sequence}",`)) return `record ${sequence} is missing or moved`;
  if (text.toString("latin1", text.length - HASH_HEX_DIGITS - 4) !== `,"${previousHash}"]`)
    return `record ${sequence} does not follow the one before`;
  const digest = hash("sha256", text, "hex");
  if (line.toString("latin1", 0, HASH_HEX_DIGITS) !== digest) return `record ${sequence} was changed`;
  const timeAt = prefix.length + String(sequence).length + 3;
  const time = text.toString("latin1", timeAt, timeAt + 24);
  if (!TIME.test(time) || text[timeAt + 24] !== QUOTE_BYTE) return `record ${sequence} has no time`;
  if (time < chain.times[0]) return `record ${sequence} is of a time before the checkpoint that did not cover it yet`;
  if (time > chain.times[1]) return `record ${sequence} is of a time after the checkpoint that covers it`;
  chain.sequence = sequence;
  chain.previousHash = digest;
  const bytes = Buffer.from(digest, "hex");
  chain.batch.hashes.push(bytes);
  if (time > chain.batch.latest) chain.batch.latest = time;
  const head = chain.heads[chain.nextHead];
  if (!head) return "";
  chain.waiting.push(bytes);
  if (head.size === sequence) return meetHead(chain, head);
  if (chain.waiting.length === RECORDS_PER_TREE_STEP) growByWaiting(chain);
  return "";
}

/** Compares the records so far with the checkpoint that names this place. */
function meetHead(chain: ChainCheck, head: SignedHead): string {
  chain.nextHead += 1;
  chain.times = timesOf(chain, chain.nextHead);
  growByWaiting(chain);
  if (chain.previousHash !== head.hash) return `the records up to ${head.size} are not those signed for`;
  const root = treeRoot(chain.tree).toString("hex");
  return root === head.root ? "" : `the signed root at record ${head.size} is not that of the records`;
}

function growByWaiting(chain: ChainCheck): void {
  chain.tree = growTree(chain.tree, chain.waiting).tree;
  chain.waiting = [];
}

/** Compares the records since the batch before with the signature over them; returns "" or what is wrong. */
export function endBatch(chain: ChainCheck, [, last, time, signature]: RegExpExecArray): string {
  const { chainId, sequence, previousHash, batch, writer } = chain;
  const records = `records ${batch.first} to ${sequence}`;
  if (Number(last) > sequence) return `record ${sequence + 1} is missing or moved`;
  if (Number(last) !== sequence || batch.hashes.length === 0) return `${records} are not a whole batch`;
  const place = { chainId, first: batch.first, last: sequence, previousHash: batch.previousHash };
  if (!verifyBatch(writer, place, Buffer.concat(batch.hashes), Buffer.from(signature!, "hex")))
    return `${records} were not signed by the process that began the chain`;
  chain.batch = { first: sequence + 1, previousHash, hashes: [], latest: "" };
  return time === batch.latest ? "" : `${records} are filed under another time than theirs`;
}

/** Returns how many records are behind the last checkpoint that names the chain. */
export const countUncovered = ({ sequence, heads, start }: ChainCheck): number =>
  sequence - (heads.at(-1)?.size ?? start);

/** Returns what is wrong with the end of a chain, which checkpoints may have closed, or a restore ended. */
export function endProblems(chain: ChainCheck, isClosed: boolean, restored: RestoredEnd | undefined): string[] {
  const problems = [endProblem(chain)].filter(Boolean);
  const { sequence, previousHash } = chain;
  if (restored) {
    const isKept = sequence === restored.kept && (restored.kept === 0 || previousHash === restored.keptHash);
    return isKept ? problems : [...problems, "it does not end where the statement about the restore says"];
  }
  const added = countUncovered(chain);
  return isClosed && added > 0 ? [...problems, `its last ${added} records were added after it was closed`] : problems;
}

function endProblem({ sequence, batch, headSize, headHash, heads, previousHash }: ChainCheck): string {
  const should = Math.max(heads.at(-1)?.size ?? 0, headSize);
  if (sequence < should) return `records ${sequence + 1} to ${should} are missing`;
  if (batch.hashes.length > 0) return `records ${batch.first} to ${sequence} are in no signed batch`;
  return sequence > headSize || previousHash !== headHash ? "its head is not its last record" : "";
}
