import type { SignedText } from "./audit-key.ts";
import type { ChainEnd, Checkpoint, SignedCheckpoint, SignedHead } from "./checkpoint.ts";
import type { Block, Tree } from "./tree.ts";

/** A chain that may have grown: a chain that is not closed, or that the last checkpoint covers. */
export interface ChainState {
  readonly chainId: string;
  /** The head in the database; undefined where the database has no chain that a checkpoint covers. */
  readonly head: { readonly size: number; readonly hash: string } | undefined;
  /** The part of it that the last checkpoint covers. */
  readonly covered: { readonly size: number; readonly hash: string } | undefined;
  /** Of the process that writes it. */
  readonly certificate: SignedText;
  /** When its last batch was written, or it began; the epoch where the database has no such chain. */
  readonly lastAt: Date;
}

/** A chain that the database has as closed, with the checkpoint that is said to have closed it. */
export interface ClosedChain extends ChainEnd {
  readonly checkpoint: SignedCheckpoint | undefined;
}

/** Records that were committed together, by their hashes. */
export interface StoredBatch {
  readonly lastSequence: number;
  readonly hashes: readonly Buffer[];
  readonly signature: Uint8Array;
}

/** The state of the database: nothing of it is believed without a signature. */
export interface CheckpointBasis {
  readonly last: (SignedCheckpoint & { readonly sequence: number }) | undefined;
  readonly chains: readonly ChainState[];
  /** The tree over the first `size` records of a chain, and the checkpoint that covers just these. */
  covered(chainId: string, size: number): Promise<{ tree: Tree; checkpoint: SignedCheckpoint | undefined }>;
  /** Batches behind record `from`, those that end up to record `to`, in the order of their ends. */
  batches(chainId: string, from: number, to: number): AsyncIterable<StoredBatch>;
  /** The tree over a chain's archived records, and the hashes of those behind, up to record `to`. */
  leaves(chainId: string, to: number): Promise<{ archived: Tree; hashes: Buffer[] }>;
}

export interface NewCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly signed: SignedCheckpoint;
  readonly grown: readonly { readonly head: SignedHead; readonly tree: Tree; readonly blocks: readonly Block[] }[];
}

export interface CheckpointStore {
  /**
   * Calls `build` with one process at a time and commits what it gives, with the event; does nothing where
   * nothing is new. False where another process holds the lock.
   */
  write(build: (basis: CheckpointBasis) => Promise<NewCheckpoint | undefined>): Promise<boolean>;
  /** The first checkpoints behind a sequence, at most `limit`. */
  after(sequence: number, limit: number): Promise<SignedCheckpoint[]>;
  /** The statement about the last part that was taken out. */
  lastArchive(): Promise<SignedText | undefined>;
  /** The first closed chains behind an id, at most `limit`, in the order of their ids. */
  closedChains(chainId: string, limit: number): Promise<ClosedChain[]>;
}
