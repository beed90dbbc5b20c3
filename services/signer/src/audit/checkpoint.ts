import { hash } from "node:crypto";
import { z } from "zod";
import type { SignedText } from "./audit-key.ts";
import { sha256 } from "./record.ts";

/**
 * The state of a chain: its number of records, the last one's hash, and the root of the tree over all their
 * hashes (audit/tree.ts), in hex.
 */
export interface SignedHead {
  readonly chainId: string;
  readonly size: number;
  readonly hash: string;
  readonly root: string;
}

/** The content that the audit key signs: every chain, those that grew by name, all of them by their hash. */
export interface Checkpoint {
  /** From 1, without a gap. */
  readonly sequence: number;
  readonly time: Date;
  /** SHA-256 of the checkpoint before; of the first: of the format's name. */
  readonly previousHash: string;
  /** The audit key's. */
  readonly keyVersion: number;
  /** How many chains have records. */
  readonly chainCount: number;
  /** See allHeadsHash. */
  readonly headsHash: string;
  /** The chains that grew since the checkpoint before. */
  readonly heads: readonly SignedHead[];
}

export type SignedCheckpoint = SignedText;

const FORMAT = "countersign-checkpoint-1";

/** The previous hash of the first checkpoint. */
export const FIRST_PREVIOUS_HASH = sha256(FORMAT);

/**
 * Returns the hash over all chains with records, in the order of their ids: the SHA-256 of one line per
 * chain, of id, size and last hash with spaces between.
 */
export const allHeadsHash = (heads: Iterable<Pick<SignedHead, "chainId" | "size" | "hash">>): string =>
  sha256(
    [...heads]
      .sort((a, b) => (a.chainId < b.chainId ? -1 : 1))
      .map((head) => `${head.chainId} ${head.size} ${head.hash}\n`)
      .join(""),
  );

/**
 * Returns the canonical text of a checkpoint: a JSON array of format, sequence, time (ISO 8601), previous
 * hash, key version, number of chains, hash of all heads, and the grown heads, each an array of chain id,
 * size, last record's hash and root.
 */
export const checkpointText = (checkpoint: Checkpoint): string =>
  JSON.stringify([
    FORMAT,
    checkpoint.sequence,
    checkpoint.time.toISOString(),
    checkpoint.previousHash,
    checkpoint.keyVersion,
    checkpoint.chainCount,
    checkpoint.headsHash,
    checkpoint.heads.map((head) => [head.chainId, head.size, head.hash, head.root]),
  ]);

export const checkpointHash = (text: string): string => hash("sha256", text);

const hex32 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().positive();
const shape = z.tuple([
  z.literal(FORMAT),
  count,
  z.iso.datetime(),
  hex32,
  count,
  count,
  hex32,
  z.array(z.tuple([z.uuid(), count, hex32, hex32])),
]);

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
  const [, sequence, time, previousHash, keyVersion, chainCount, headsHash, heads] = data;
  const checkpoint = {
    sequence,
    time: new Date(time),
    previousHash,
    keyVersion,
    chainCount,
    headsHash,
    heads: heads.map(([chainId, size, last, root]) => ({ chainId, size, hash: last, root })),
  };
  return checkpointText(checkpoint) === text ? checkpoint : undefined;
}
