import { hash } from "node:crypto";
import { HOUR_MS } from "@countersign/core";
import { z } from "zod";
import { type AuditPublicKeys, type SignedText, verifyAuditSignature } from "./audit-key.ts";
import { sha256 } from "./record.ts";

/** Where a chain ends: its number of records and the last one's hash, hex. */
export interface ChainEnd {
  readonly chainId: string;
  readonly size: number;
  readonly hash: string;
}

/** The state of a chain, with the root of the tree over all its records' hashes (audit/tree.ts), in hex. */
export interface SignedHead extends ChainEnd {
  readonly root: string;
}

/** Where a chain ends since the database went back. */
export interface RestoredEnd extends ChainEnd {
  /** The records that the database still has: fewer than the covered `size`, or a few more. */
  readonly kept: number;
  readonly keptHash: string;
}

/** An operator's statement that the database went back, with every chain that lost records by it. */
export interface RestoreStatement {
  readonly by: string;
  readonly reason: string;
  /** The last checkpoint that the database still had; those after it were known elsewhere. */
  readonly databaseSequence: number;
  readonly ends: readonly RestoredEnd[];
}

/**
 * The content that the audit key signs: every open chain, those that grew by name, all of them by their hash,
 * and the chains that it closes.
 */
export interface Checkpoint {
  /** From 1, without a gap. */
  readonly sequence: number;
  readonly time: Date;
  /** SHA-256 of the checkpoint before; of the first: of the format's name. */
  readonly previousHash: string;
  /** The audit key's. */
  readonly keyVersion: number;
  /** How many open chains have records, without those that this checkpoint closes. */
  readonly chainCount: number;
  /** See allHeadsHash. */
  readonly headsHash: string;
  /** The chains that grew since the checkpoint before. */
  readonly heads: readonly SignedHead[];
  /** Chains that end here: no later checkpoint covers them. Absent in the first format, which closed none. */
  readonly closed?: readonly ChainEnd[];
  /** The first checkpoint after a restore: all chains of before end here, and an epoch begins. */
  readonly restore?: RestoreStatement;
}

/** Returns the chains that a checkpoint ends, as the database has them from then on. */
export const endedBy = ({ closed = [], restore }: Checkpoint): readonly ChainEnd[] => [
  ...closed,
  ...(restore?.ends.map(({ chainId, kept, keptHash }) => ({ chainId, size: kept, hash: keptHash })) ?? []),
];

/** So long without a record and a chain may be closed. */
export const CLOSE_CHAIN_AFTER_MS = HOUR_MS;
/** A process leaves its chain after so long without a record: long before anybody may close it. */
export const LEAVE_CHAIN_AFTER_MS = CLOSE_CHAIN_AFTER_MS / 2;

/** Returns when a chain began, by its id, which is a UUIDv7 and part of all that its process signs. */
export const chainBegan = (chainId: string): number => Number.parseInt(chainId.replaceAll("-", "").slice(0, 12), 16);

export type SignedCheckpoint = SignedText;

const FIRST_FORMAT = "countersign-checkpoint-1";
const FORMAT = "countersign-checkpoint-2";
const RESTORE_FORMAT = "countersign-checkpoint-3";

/** The previous hash of the first checkpoint, of either format. */
export const FIRST_PREVIOUS_HASH = sha256(FIRST_FORMAT);

/**
 * Returns the hash over all open chains with records, in the order of their ids: the SHA-256 of one line per
 * chain, of id, size and last hash with spaces between.
 */
export const allHeadsHash = (heads: Iterable<ChainEnd>): string =>
  sha256(
    [...heads]
      .sort((a, b) => (a.chainId < b.chainId ? -1 : 1))
      .map((head) => `${head.chainId} ${head.size} ${head.hash}\n`)
      .join(""),
  );

/**
 * Returns the canonical text of a checkpoint: a JSON array of format, sequence, time (ISO 8601), previous
 * hash, key version, number of chains, hash of all heads, the grown heads, each an array of chain id, size,
 * last record's hash and root, and the closed chains, each an array of chain id, size and last record's hash.
 * After a restore there is one more array: operator, reason, the database's last checkpoint, and the chains
 * that lost records, each an array of chain id, covered size, last covered record's hash, kept size and last
 * kept record's hash.
 */
export const checkpointText = (checkpoint: Checkpoint): string =>
  JSON.stringify([
    checkpoint.restore ? RESTORE_FORMAT : checkpoint.closed ? FORMAT : FIRST_FORMAT,
    checkpoint.sequence,
    checkpoint.time.toISOString(),
    checkpoint.previousHash,
    checkpoint.keyVersion,
    checkpoint.chainCount,
    checkpoint.headsHash,
    checkpoint.heads.map((head) => [head.chainId, head.size, head.hash, head.root]),
    ...(checkpoint.closed ? [checkpoint.closed.map((end) => [end.chainId, end.size, end.hash])] : []),
    ...(checkpoint.restore ? [listRestore(checkpoint.restore)] : []),
  ]);

const listRestore = ({ by, reason, databaseSequence, ends }: RestoreStatement) => [
  by,
  reason,
  databaseSequence,
  ends.map(({ chainId, size, hash: last, kept, keptHash }) => [chainId, size, last, kept, keptHash]),
];

export const checkpointHash = (text: string): string => hash("sha256", text);

export const hex32 = z.string().regex(/^[0-9a-f]{64}$/);
export const count = z.int().positive();
const content = [
  count,
  z.iso.datetime(),
  hex32,
  count,
  z.int().nonnegative(),
  hex32,
  z.array(z.tuple([z.uuid(), count, hex32, hex32])),
] as const;
const ends = z.array(z.tuple([z.uuid(), count, hex32]));
const size = z.int().nonnegative();
const restoreList = z.tuple([z.string(), z.string(), size, z.array(z.tuple([z.uuid(), size, hex32, size, hex32]))]);
const shape = z.union([
  z.tuple([z.literal(FIRST_FORMAT), ...content]),
  z.tuple([z.literal(FORMAT), ...content, ends]),
  z.tuple([z.literal(RESTORE_FORMAT), ...content, ends, restoreList]),
]);

const readRestore = ([by, reason, databaseSequence, list]: z.output<typeof restoreList>): RestoreStatement => ({
  ...{ by, reason, databaseSequence },
  ends: list.map(([chainId, size, last, kept, keptHash]) => ({ chainId, size, hash: last, kept, keptHash })),
});

/** Reads a checkpoint's text; undefined where it is none, or spelled otherwise than the signer does. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { data } = shape.safeParse(json);
  if (!data) return undefined;
  const [, sequence, time, previousHash, keyVersion, chainCount, headsHash, heads, closed, restore] = data;
  const checkpoint = {
    sequence,
    time: new Date(time),
    previousHash,
    keyVersion,
    chainCount,
    headsHash,
    heads: heads.map(([chainId, size, last, root]) => ({ chainId, size, hash: last, root })),
    ...(closed && { closed: closed.map(([chainId, size, last]) => ({ chainId, size, hash: last })) }),
    ...(restore && { restore: readRestore(restore) }),
  };
  return checkpointText(checkpoint) === text ? checkpoint : undefined;
}

/** Reads a checkpoint; undefined where the audit key has not signed it. */
export function readCheckpoint(signed: SignedCheckpoint, keys: AuditPublicKeys): Checkpoint | undefined {
  const checkpoint = parseCheckpoint(signed.text);
  return checkpoint && verifyAuditSignature(signed, checkpoint.keyVersion, keys) ? checkpoint : undefined;
}
