import type { Clock, Logger } from "@countersign/service-kit";
import type { AuditHead } from "./audit-log.ts";
import {
  allHeadsHash,
  type Checkpoint,
  checkpointHash,
  checkpointText,
  FIRST_PREVIOUS_HASH,
  type SignedCheckpoint,
  type SignedHead,
} from "./checkpoint.ts";
import { type CheckpointFile, CheckpointForkError } from "./checkpoint-file.ts";
import { type Block, EMPTY_TREE, growTree, type Tree, treeRoot } from "./tree.ts";

/** A chain that may have grown. */
export interface ChainState {
  readonly chainId: string;
  /** Where the database says that it ends; undefined where it says nothing of a chain that is under a checkpoint. */
  readonly head: { readonly size: number; readonly hash: string } | undefined;
  /** What the last checkpoint covers of it. */
  readonly covered: { readonly size: number; readonly hash: string } | undefined;
}

export interface CheckpointBasis {
  readonly last: { readonly sequence: number; readonly hash: string } | undefined;
  readonly chains: readonly ChainState[];
  /** The tree over what the last checkpoint covers of a chain. */
  tree(chainId: string): Promise<Tree>;
  /** Record hashes behind leaf `from`, up to leaf `to`. */
  recordHashes(chainId: string, from: number, to: number): Promise<Buffer[]>;
}

export interface NewCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly signed: SignedCheckpoint;
  readonly grown: readonly { readonly head: SignedHead; readonly tree: Tree; readonly blocks: readonly Block[] }[];
}

export interface CheckpointStore {
  /** Calls `build` with one process at a time and commits what it gives, with the event; does nothing where nothing is new or another process is at it. */
  write(build: (basis: CheckpointBasis) => Promise<NewCheckpoint | undefined>): Promise<void>;
  /** The first checkpoints behind a sequence, at most `limit`. */
  after(sequence: number, limit: number): Promise<SignedCheckpoint[]>;
}

/** The vault's audit key. */
export interface CheckpointSigner {
  version(): number;
  /** r||s over the SHA-256 of the text. */
  sign(text: Uint8Array): Promise<Uint8Array>;
}

export interface CheckpointerOptions {
  readonly store: CheckpointStore;
  readonly signer: CheckpointSigner;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where this process's own chain ends, as it remembers it. */
  ownHead(): AuditHead | undefined;
  readonly file?: CheckpointFile;
  /** Milliseconds between the beginnings of two looks. */
  readonly intervalMs: number;
  /** Told of everything that shows a changed or shortened log. */
  onAlarm?(): void;
}

const PAGE = 1000;
/** Records that the tree takes at once: a second of signatures in one go would hold those up that come meanwhile. */
const LEAVES_AT_ONCE = 128;

async function growInTurns(tree: Tree, hashes: readonly Buffer[]): Promise<{ tree: Tree; blocks: Block[] }> {
  const blocks: Block[] = [];
  let grown = tree;
  for (let at = 0; at < hashes.length; at += LEAVES_AT_ONCE) {
    const more = growTree(grown, hashes.slice(at, at + LEAVES_AT_ONCE));
    grown = more.tree;
    blocks.push(...more.blocks);
    await new Promise(setImmediate);
  }
  return { tree: grown, blocks };
}

/** Makes checkpoints while there is something new, whoever wrote it, and keeps the file at the database's state. */
export function startCheckpointer(options: CheckpointerOptions) {
  const { store, signer, clock, logger, ownHead, file, intervalMs } = options;
  const alarm = (details: object, message: string) => {
    options.onAlarm?.();
    logger.error(details, message);
  };

  async function grow(basis: CheckpointBasis, chain: ChainState, own: AuditHead | undefined) {
    const { chainId, head, covered } = chain;
    const from = covered?.size ?? 0;
    if (!head || head.size < from) return void alarm({ chainId }, "a chain lost records that are under a checkpoint");
    if (head.size === from) return undefined;
    const tree = covered ? await basis.tree(chainId) : EMPTY_TREE;
    const hashes = await basis.recordHashes(chainId, from, head.size);
    const whole = hashes.length === head.size - from && hashes.at(-1)!.toString("hex") === head.hash;
    const remembered = own?.chainId === chainId ? hashes[Number(own.sequence) - from - 1] : undefined;
    const kept =
      !own || own.chainId !== chainId || Number(own.sequence) <= from || remembered?.toString("hex") === own.hash;
    if (!whole || !kept) return void alarm({ chainId }, "the records of a chain are not those that were written");
    const more = await growInTurns(tree, hashes);
    const root = treeRoot(more.tree).toString("hex");
    return { head: { chainId, size: head.size, hash: head.hash, root }, ...more };
  }

  async function build(basis: CheckpointBasis, own: AuditHead | undefined): Promise<NewCheckpoint | undefined> {
    const heads = new Map<string, { chainId: string; size: number; hash: string }>();
    const grown: NewCheckpoint["grown"][number][] = [];
    for (const chain of basis.chains) {
      const more = await grow(basis, chain, own);
      if (more) grown.push(more);
      const head = more?.head ?? chain.covered;
      if (head) heads.set(chain.chainId, { chainId: chain.chainId, size: head.size, hash: head.hash });
    }
    if (grown.length === 0) return undefined;
    const keyVersion = signer.version();
    const checkpoint = {
      sequence: (basis.last?.sequence ?? 0) + 1,
      time: clock.now(),
      previousHash: basis.last?.hash ?? FIRST_PREVIOUS_HASH,
      keyVersion,
      chainCount: heads.size,
      headsHash: allHeadsHash(heads.values()),
      heads: grown.map(({ head }) => head),
    };
    const text = checkpointText(checkpoint);
    const signature = Buffer.from(await signer.sign(Buffer.from(text))).toString("hex");
    return { checkpoint, signed: { text, signature }, grown };
  }

  /** The file takes what the database has beyond it, also what other processes signed, if it continues what the file has. */
  async function fillFile(): Promise<void> {
    if (!file) return;
    for (;;) {
      const behind = await store.after(file.last().sequence, PAGE);
      if (behind.length === 0) break;
      await file.append(behind);
      if (behind.length < PAGE) break;
    }
    const { sequence, hash } = file.last();
    if (sequence === 0) return;
    const [same] = await store.after(sequence - 1, 1);
    if (!same || checkpointHash(same.text) !== hash) {
      alarm({ sequence }, "the database has lost or changed checkpoints that the file has");
    }
  }

  async function look(): Promise<void> {
    try {
      // Before the rows are read: what is written from now on may be missing in them.
      const own = ownHead();
      await store.write((basis) => build(basis, own));
      await fillFile();
    } catch (err) {
      if (err instanceof CheckpointForkError) alarm({ err }, "the database's checkpoints are not those of the file");
      // Signing goes on: records are durable without a checkpoint, and the next one covers them.
      else logger.warn({ err }, "no checkpoint of the audit log could be made");
    }
  }

  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const next = (delay: number) => {
    timer = setTimeout(() => {
      const started = performance.now();
      running = look().then(() => {
        if (!stopped) next(Math.max(50, intervalMs - (performance.now() - started)));
      });
    }, delay);
  };
  next(0);

  return {
    /** Ends with a last checkpoint, so that a process that stops in order leaves nothing uncovered. */
    async close(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await running;
      await look();
    },
  };
}
