import type { LogEnd } from "./archive.ts";
import { type AuditPublicKeys, verifyAuditSignature } from "./audit-key.ts";
import {
  allHeadsHash,
  type Checkpoint,
  checkpointHash,
  FIRST_PREVIOUS_HASH,
  parseCheckpoint,
  type RestoredEnd,
  type RestoreStatement,
  type SignedCheckpoint,
  type SignedHead,
} from "./checkpoint.ts";
import { treeRoot } from "./tree.ts";

/** How far a chain was under a checkpoint, and when. */
export interface CoveredHead extends SignedHead {
  /** The checkpoint's. */
  readonly sequence: number;
  readonly time: Date;
  /** Of the checkpoint before, which did not cover these records yet; undefined where there is none. */
  readonly previousTime: Date | undefined;
}

/** The result of comparing checkpoints from several places. */
export interface KnownCheckpoints {
  readonly problems: readonly string[];
  /** Those of the problems that say that the first place lacks checkpoints which another one has. */
  readonly hidden: readonly string[];
  readonly count: number;
  readonly last: Checkpoint | undefined;
  readonly lastHash: string;
  /** Of each chain, where it stood, in the order of its growth. */
  readonly heads: ReadonlyMap<string, readonly CoveredHead[]>;
  /** The chains that a checkpoint has closed. */
  readonly closed: ReadonlySet<string>;
  /** The chains that ended because the database went back. */
  readonly restored: ReadonlyMap<string, RestoredEnd & { readonly statement: StatedRestore }>;
}

/** A restore as the checkpoint that states it says. */
export interface StatedRestore extends Pick<RestoreStatement, "by" | "reason" | "databaseSequence"> {
  readonly sequence: number;
  readonly time: Date;
}

/**
 * How much later than its first checkpoint, and how much earlier than the one before, a record's time may be:
 * clocks of replicas differ, and a decision waits for its commit (at most 20 s, and 10 s for the statement).
 */
export const RECORD_TIME_TOLERANCE_MS = 60_000;

/**
 * Returns how many records of a chain a database has that went back to a checkpoint: all that the checkpoint
 * covered, unless it had lost some before.
 */
export const keptAtLeast = (
  heads: readonly CoveredHead[] = [],
  databaseSequence: number,
  lostBefore: Pick<RestoredEnd, "kept"> | undefined,
): number => {
  const covered = heads.findLast(({ sequence }) => sequence <= databaseSequence)?.size ?? 0;
  return Math.min(covered, lostBefore?.kept ?? covered);
};

/** Returns the stretches of numbers that follow each other, as first and last. */
function stretches(numbers: readonly number[]): [number, number][] {
  const found: [number, number][] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = found.at(-1);
    if (last && number <= last[1] + 1) last[1] = number;
    else found.push([number, number]);
  }
  return found;
}

/** The part of the row that is compared: all of it where nothing is given. */
export interface CheckpointRange {
  /** The end of the part before, which archives have. */
  readonly begins?: LogEnd | undefined;
  /** The last checkpoint of an archive. */
  readonly until?: number | undefined;
  /** Chains that were closed before. */
  readonly closedBefore?: Iterable<string>;
}

/** A place where checkpoints are kept: an export, a file, the stream. */
export interface CheckpointPlace {
  readonly name: string;
  readonly checkpoints: Iterable<SignedCheckpoint>;
}

const CHECKPOINTS_PER_STEP = 100;
const SEQUENCE = /^\["[a-z0-9-]+",(\d{1,15}),/;

/**
 * Reads the checkpoints of all places into one row, by their numbers. One that only a later place has fills
 * the row and is reported as removed from the first place.
 */
async function readRow(places: readonly CheckpointPlace[], { begins, until = Infinity }: CheckpointRange) {
  const from = begins?.sequence ?? 0;
  const problems: string[] = [];
  const missing: string[] = [];
  const row = new Map<number, { signed: SignedCheckpoint; checkpoint: Checkpoint }>();
  const [first] = places;
  const inFirst = new Set<number>();
  for (const place of places) {
    const { name, checkpoints } = place;
    const hidden: number[] = [];
    let ordinal = 0;
    for (const signed of checkpoints) {
      ordinal += 1;
      if (ordinal % CHECKPOINTS_PER_STEP === 0) await new Promise(setImmediate);
      const number = Number(SEQUENCE.exec(signed.text)?.[1] ?? from + 1);
      if (number === begins?.sequence && checkpointHash(signed.text) !== begins.hash)
        problems.push(`${name}: checkpoint ${number} is another one than that with which the archive ends`);
      // Those are in archives before or behind.
      if (number <= from || number > until) continue;
      const checkpoint = parseCheckpoint(signed.text);
      if (!checkpoint) {
        problems.push(`${name}: checkpoint in place ${ordinal} is unreadable`);
        continue;
      }
      if (place === first) inFirst.add(checkpoint.sequence);
      else if (!inFirst.has(checkpoint.sequence)) hidden.push(checkpoint.sequence);
      const known = row.get(checkpoint.sequence);
      if (!known) row.set(checkpoint.sequence, { signed, checkpoint });
      else if (known.signed.text !== signed.text)
        problems.push(`${name}: checkpoint ${checkpoint.sequence} is another one than elsewhere`);
    }
    for (const [from, to] of stretches(hidden))
      missing.push(
        `${first?.name} hides ${from === to ? `checkpoint ${from}` : `checkpoints ${from} to ${to}`}, which ${name} has`,
      );
  }
  return { row, problems: [...problems, ...missing], hidden: missing };
}

/** The chains under the checkpoints so far. */
interface Chains {
  readonly heads: Map<string, CoveredHead[]>;
  readonly closed: Set<string>;
  readonly restored: Map<string, RestoredEnd & { statement: StatedRestore }>;
}

/** A checkpoint in the row: whether the one before is there, and where its problems are reported. */
interface Placed {
  readonly checkpoint: Checkpoint;
  readonly follows: boolean;
  readonly previousTime: Date | undefined;
  report(problem: string): void;
}

const headsOf = ({ heads, sequence, time }: LogEnd): [string, CoveredHead[]][] =>
  heads.map(({ tree, ...head }) => [
    head.chainId,
    [{ ...head, root: treeRoot(tree).toString("hex"), sequence, time, previousTime: undefined }],
  ]);

function growChains({ heads, closed }: Chains, { checkpoint, previousTime, report }: Placed): void {
  const { sequence, time } = checkpoint;
  for (const each of checkpoint.heads) {
    const head = { ...each, sequence, time, previousTime };
    const known = heads.get(head.chainId);
    if (closed.has(head.chainId)) report(`continues chain ${head.chainId}, which was closed before`);
    if (!known) heads.set(head.chainId, [head]);
    else if (known.at(-1)!.size < head.size) known.push(head);
    else report(`takes chain ${head.chainId} back`);
  }
}

function closeChains({ heads, closed }: Chains, { checkpoint, follows, report }: Placed): void {
  for (const { chainId, size, hash } of checkpoint.closed ?? []) {
    const end = heads.get(chainId)?.at(-1);
    // Its last head may have been in a checkpoint that is missing.
    if (follows && (closed.has(chainId) || end?.size !== size || end.hash !== hash))
      report(`closes chain ${chainId} at another place than its last one`);
    closed.add(chainId);
  }
}

function restoreChains({ heads, closed, restored }: Chains, { checkpoint, follows, report }: Placed): void {
  if (!checkpoint.restore) return;
  const { ends, ...stated } = checkpoint.restore;
  const { sequence, time } = checkpoint;
  for (const end of ends) {
    const { chainId, size, hash, kept } = end;
    const covered = heads.get(chainId)?.at(-1);
    const before = restored.get(chainId);
    if (follows && ((covered?.size ?? 0) !== size || (covered && covered.hash !== hash)))
      report(`states a loss of chain ${chainId} at another place than its last one`);
    // A chain that lost records before does not get any back.
    if (before && before.kept < kept) report(`states that chain ${chainId} has records that were lost before`);
    if (kept < keptAtLeast(heads.get(chainId), stated.databaseSequence, before))
      report(`states a loss of chain ${chainId} that no restore can cause`);
    restored.set(chainId, { ...end, statement: { ...stated, sequence, time } });
    closed.add(chainId);
  }
}

/**
 * Checks checkpoints of one or more places (an export, files, the stream) as one row from the first, or from
 * where the range begins: none missing, none contradicting, each continuing the one before, the last signed
 * by the audit key, which signs for all before it. Others have turns between: a process that signs verifies
 * too.
 */
export async function verifyCheckpoints(
  places: readonly CheckpointPlace[],
  keys: AuditPublicKeys,
  range: CheckpointRange,
): Promise<KnownCheckpoints> {
  const { row, problems, hidden } = await readRow(places, range);
  const { begins, closedBefore = [] } = range;
  const heads = new Map(begins && headsOf(begins));
  const chains: Chains = { heads, closed: new Set(closedBefore), restored: new Map() };
  let last: Checkpoint | undefined;
  let lastHash = begins?.hash ?? FIRST_PREVIOUS_HASH;
  let expected = (begins?.sequence ?? 0) + 1;
  for (const [sequence, { signed, checkpoint }] of [...row].toSorted(([a], [b]) => a - b)) {
    if (sequence % CHECKPOINTS_PER_STEP === 0) await new Promise(setImmediate);
    const report = (problem: string) => void problems.push(`checkpoint ${sequence} ${problem}`);
    const follows = sequence === expected;
    // Not counted up one by one: a forged number may be any.
    if (sequence === expected + 1) problems.push(`checkpoint ${expected} is missing`);
    else if (!follows) problems.push(`checkpoints ${expected} to ${sequence - 1} are missing`);
    if (follows && checkpoint.previousHash !== lastHash) report("does not continue the one before");
    const hash = checkpointHash(signed.text);
    // Where the row is broken, no later signature includes this one.
    const isIncluded = row.get(sequence + 1)?.checkpoint.previousHash === hash;
    if (!isIncluded && !verifyAuditSignature(signed, checkpoint.keyVersion, keys))
      report("is not signed by the audit key");
    const previousTime = follows ? (last ?? begins)?.time : undefined;
    if (previousTime && checkpoint.time.getTime() < previousTime.getTime() - RECORD_TIME_TOLERANCE_MS)
      report("has an earlier time than the one before");
    const placed = { checkpoint, follows, previousTime, report };
    growChains(chains, placed);
    closeChains(chains, placed);
    restoreChains(chains, placed);
    [last, lastHash, expected] = [checkpoint, hash, sequence + 1];
  }
  if (last) {
    const ends = [...heads.values()].map((each) => each.at(-1)!);
    const open = ends.filter(({ chainId }) => !chains.closed.has(chainId));
    if (open.length !== last.chainCount || allHeadsHash(open) !== last.headsHash)
      problems.push(`checkpoint ${last.sequence} signs for other heads than those before it name`);
  }
  return { problems, hidden, count: row.size, last, lastHash, ...chains };
}
