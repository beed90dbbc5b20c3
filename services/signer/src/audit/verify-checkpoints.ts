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
 * Checks checkpoints of one or more places (an export, files, the stream) as one row from the first, or from
 * where the range begins: none missing, none contradicting, each continuing the one before, the last signed
 * by the audit key, which signs for all before it. A checkpoint that only a later place has fills the row and
 * is reported as removed from the first place. Others have turns between: a process that signs verifies too.
 */
export async function verifyCheckpoints(
  places: readonly CheckpointPlace[],
  keys: AuditPublicKeys,
  { begins, until = Number.POSITIVE_INFINITY, closedBefore = [] }: CheckpointRange,
): Promise<KnownCheckpoints> {
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

  problems.push(...missing);
  const heads = new Map<string, CoveredHead[]>();
  if (begins)
    for (const { tree, ...head } of begins.heads)
      heads.set(head.chainId, [
        { ...head, root: treeRoot(tree).toString("hex"), sequence: from, time: begins.time, previousTime: undefined },
      ]);
  const closed = new Set(closedBefore);
  const restored = new Map<string, RestoredEnd & { statement: StatedRestore }>();
  let previous = { hash: begins?.hash ?? FIRST_PREVIOUS_HASH, known: true };
  let last: { signed: SignedCheckpoint; checkpoint: Checkpoint } | undefined;
  let expected = from + 1;
  for (const [sequence, each] of [...row].toSorted(([a], [b]) => a - b)) {
    if (sequence % CHECKPOINTS_PER_STEP === 0) await new Promise(setImmediate);
    // Not counted up one by one: a forged number may be any.
    if (sequence > expected) {
      const one = sequence === expected + 1;
      problems.push(`checkpoint${one ? ` ${expected} is` : `s ${expected} to ${sequence - 1} are`} missing`);
      previous = { hash: "", known: false };
    }
    expected = sequence + 1;
    const { signed, checkpoint } = each;
    if (previous.known && checkpoint.previousHash !== previous.hash)
      problems.push(`checkpoint ${sequence} does not continue the one before`);
    // Where the row is broken, no later signature includes this one.
    const next = row.get(sequence + 1);
    const included = next?.checkpoint.previousHash === checkpointHash(signed.text);
    if (!included && !verifyAuditSignature(signed, checkpoint.keyVersion, keys))
      problems.push(`checkpoint ${sequence} is not signed by the audit key`);
    const { time } = checkpoint;
    const previousTime = previous.known ? (last?.checkpoint.time ?? begins?.time) : undefined;
    if (previousTime && time.getTime() < previousTime.getTime() - RECORD_TIME_TOLERANCE_MS)
      problems.push(`checkpoint ${sequence} has an earlier time than the one before`);
    for (const each of checkpoint.heads) {
      const head = { ...each, sequence, time, previousTime };
      const known = heads.get(head.chainId);
      if (closed.has(head.chainId))
        problems.push(`checkpoint ${sequence} continues chain ${head.chainId}, which was closed before`);
      if (!known) heads.set(head.chainId, [head]);
      else if (known.at(-1)!.size < head.size) known.push(head);
      else problems.push(`checkpoint ${sequence} takes chain ${head.chainId} back`);
    }
    for (const { chainId, size, hash } of checkpoint.closed ?? []) {
      const end = heads.get(chainId)?.at(-1);
      // Its last head may have been in a checkpoint that is missing.
      if (previous.known && (closed.has(chainId) || end?.size !== size || end.hash !== hash))
        problems.push(`checkpoint ${sequence} closes chain ${chainId} at another place than its last one`);
      closed.add(chainId);
    }
    const { restore } = checkpoint;
    for (const end of restore?.ends ?? []) {
      const covered = heads.get(end.chainId)?.at(-1);
      const size = covered?.size ?? 0;
      if (previous.known && (size !== end.size || (covered && covered.hash !== end.hash)))
        problems.push(
          `checkpoint ${sequence} states a loss of chain ${end.chainId} at another place than its last one`,
        );
      // A chain that lost records before does not get any back.
      if ((restored.get(end.chainId)?.kept ?? end.kept) < end.kept)
        problems.push(`checkpoint ${sequence} states that chain ${end.chainId} has records that were lost before`);
      const { by, reason, databaseSequence } = restore!;
      if (end.kept < keptAtLeast(heads.get(end.chainId), databaseSequence, restored.get(end.chainId)))
        problems.push(`checkpoint ${sequence} states a loss of chain ${end.chainId} that no restore can cause`);
      restored.set(end.chainId, { ...end, statement: { by, reason, databaseSequence, sequence, time } });
      closed.add(end.chainId);
    }
    previous = { hash: checkpointHash(signed.text), known: true };
    last = each;
  }
  if (last) {
    const ends = [...heads.values()].map((each) => each.at(-1)!).filter(({ chainId }) => !closed.has(chainId));
    if (ends.length !== last.checkpoint.chainCount || allHeadsHash(ends) !== last.checkpoint.headsHash)
      problems.push(`checkpoint ${last.checkpoint.sequence} signs for other heads than those before it name`);
  }
  const known = { count: row.size, last: last?.checkpoint, lastHash: previous.hash };
  return { problems, hidden: missing, ...known, heads, closed, restored };
}
