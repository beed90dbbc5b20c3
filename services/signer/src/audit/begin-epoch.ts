import { readArchive } from "./archive.ts";
import { type AuditPublicKeys, type SignedText, verifyAuditSignature } from "./audit-key.ts";
import {
  allHeadsHash,
  type ChainEnd,
  type Checkpoint,
  checkpointHash,
  FIRST_PREVIOUS_HASH,
  parseCheckpoint,
  type RestoredEnd,
  type SignedCheckpoint,
} from "./checkpoint.ts";
import { genesisHash } from "./record.ts";
import { type CheckpointPlace, keptAtLeast, verifyCheckpoints } from "./verify-checkpoints.ts";

export interface EpochBasis {
  /** The statement about the last part of the log that was taken out of the database. */
  readonly archive?: SignedText | undefined;
  /** All checkpoints of the database that went back, behind that part. */
  readonly database: readonly SignedCheckpoint[];
  /** Checkpoints that were kept elsewhere. */
  readonly elsewhere: readonly CheckpointPlace[];
  /** As the database has them. */
  readonly chains: readonly (ChainEnd & { readonly isClosed: boolean })[];
  readonly keys: AuditPublicKeys;
  /** The database went back, also where no checkpoint that it lost is known. */
  readonly wentBack: boolean;
}

export interface Epoch {
  /** The checkpoints that the database has lost. */
  readonly lost: readonly SignedCheckpoint[];
  readonly checkpoint: Checkpoint;
}

/**
 * Returns the checkpoint that begins an epoch after the database went back. It continues the last checkpoint
 * known anywhere, so that no history disappears, names every chain that lost records with what is left of it,
 * and ends all others. Undefined where the database did not go back and lost no checkpoint that is known.
 * Errors: Error where the checkpoints are not one row that the audit key signed, or records are missing that
 * a checkpoint of the database covers: no restore takes those away.
 */
export async function beginEpoch(
  { archive, database, elsewhere, chains, keys, wentBack }: EpochBasis,
  stated: { readonly by: string; readonly reason: string; readonly time: Date; readonly keyVersion: number },
): Promise<Epoch | undefined> {
  const begins = archive && readArchive(archive, keys);
  if (archive && !begins) throw new Error("the statement about the archive is not signed by the audit key");
  const places = [{ name: "the database", checkpoints: database }, ...elsewhere];
  const known = await verifyCheckpoints(places, keys, { begins });
  const problems = known.problems.filter((problem) => !known.hidden.includes(problem));
  if (problems.length > 0) throw new Error(`the checkpoints do not fit together:\n${problems.join("\n")}`);
  const databaseSequence = (begins?.sequence ?? 0) + database.length;
  if (database.length > 0 && parseCheckpoint(database.at(-1)!.text)!.sequence !== databaseSequence)
    throw new Error("the database lacks a checkpoint in between: no restore does that");
  const rows = new Map<number, SignedCheckpoint>();
  for (const signed of elsewhere.flatMap(({ checkpoints }) => [...checkpoints])) {
    const { sequence, keyVersion } = parseCheckpoint(signed.text)!;
    const isNew = sequence > databaseSequence && !rows.has(sequence);
    if (isNew && verifyAuditSignature(signed, keyVersion, keys)) rows.set(sequence, signed);
  }
  const lost = [...rows].sort(([a], [b]) => a - b);
  if (lost.length === 0 && !wentBack) return undefined;
  if (database.length + lost.length !== known.count) throw new Error("a checkpoint is not signed by the audit key");

  const inLost = lost.flatMap(([, { text }]) => {
    const { heads, closed = [], restore } = parseCheckpoint(text)!;
    return [...heads, ...closed, ...(restore?.ends ?? [])].map(({ chainId }) => chainId);
  });
  const stored = new Map(chains.map((chain) => [chain.chainId, chain]));
  const open = [...known.heads.keys()].filter((chainId) => !known.closed.has(chainId));
  const openInDatabase = chains.filter(({ isClosed }) => !isClosed).map(({ chainId }) => chainId);
  const closed: ChainEnd[] = [];
  const ends: RestoredEnd[] = [];
  for (const chainId of [...new Set([...open, ...inLost, ...openInDatabase])].sort()) {
    const covered = known.heads.get(chainId)?.at(-1);
    const { size: kept, hash: keptHash } = stored.get(chainId) ?? { size: 0, hash: genesisHash(chainId) };
    const { size, hash } = covered ?? { size: 0, hash: genesisHash(chainId) };
    if (size === 0 && kept === 0) continue;
    if (kept < keptAtLeast(known.heads.get(chainId), databaseSequence, known.restored.get(chainId)))
      throw new Error(`chain ${chainId} lacks records that a checkpoint of the database covers: no restore does that`);
    const isWhole = kept === size && keptHash === hash;
    if (isWhole && !known.closed.has(chainId)) closed.push({ chainId, size, hash });
    // One that the database has as closed is as its checkpoint says.
    else if (!isWhole || !stored.get(chainId)?.isClosed) ends.push({ chainId, size, hash, kept, keptHash });
  }
  const { by, reason, time, keyVersion } = stated;
  const last = lost.at(-1)?.[1] ?? database.at(-1);
  const checkpoint = {
    sequence: databaseSequence + lost.length + 1,
    time,
    previousHash: last ? checkpointHash(last.text) : (begins?.hash ?? FIRST_PREVIOUS_HASH),
    keyVersion,
    chainCount: 0,
    headsHash: allHeadsHash([]),
    heads: [],
    closed,
    restore: { by, reason, databaseSequence, ends },
  };
  return { lost: lost.map(([, signed]) => signed), checkpoint };
}
