import type { Clock, LogFields, Logger } from "@countersign/core";
import { startPeriodicJob } from "@countersign/runtime";
import { readArchive } from "./archive.ts";
import { type AuditPublicKeys, type SignedText, verifyAuditSignature } from "./audit-key.ts";
import type { AuditHead } from "./audit-store.ts";
import { readCertificate, verifyBatch } from "./batch.ts";
import {
  allHeadsHash,
  type ChainEnd,
  type Checkpoint,
  CLOSE_CHAIN_AFTER_MS,
  chainBegan,
  checkpointHash,
  checkpointText,
  endedBy,
  FIRST_PREVIOUS_HASH,
  parseCheckpoint,
  type SignedCheckpoint,
  type SignedHead,
} from "./checkpoint.ts";
import { type CheckpointFile, CheckpointForkError } from "./checkpoint-file.ts";
import { genesisHash } from "./record.ts";
import { type Block, EMPTY_TREE, growTree, isTree, type Tree, treeRoot } from "./tree.ts";

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

/** The vault's audit key. */
export interface CheckpointSigner {
  version(): number;
  /** r||s over the SHA-256 of the text. */
  sign(text: Uint8Array): Promise<Uint8Array>;
  /** Public halves of all versions. */
  readonly keys: AuditPublicKeys;
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
  /** Milliseconds without a run that could make a checkpoint until that is an alarm. Default 150,000. */
  readonly stalledMs?: number;
  /** Called for everything that shows a changed, forged or shortened log. */
  onAlarm?(): void;
}

const CHECKPOINTS_PER_PAGE = 1000;
/** The most chains that one checkpoint closes: its event stays small, also where none was ever closed. */
const MAX_CLOSED_PER_CHECKPOINT = 200;
/** So many closed chains are compared at once, and so often; then the next ones, and all over again. */
const CLOSED_PER_LOOK = 1000;
const CLOSED_LOOK_MS = 60_000;
const FIRST_CHAIN = "00000000-0000-0000-0000-000000000000";
/**
 * Records that the tree takes at once. A larger number would keep signatures waiting that arrive meanwhile.
 */
const RECORDS_PER_TREE_STEP = 128;
/**
 * Alarms of one run that are logged one by one: an attacker in the database can make any number of chains.
 */
const MAX_LOGGED_ALARMS = 20;
/** Longer than the transaction of a checkpoint over millions of records may take. */
const STALLED_MS = 150_000;

async function growInTurns(tree: Tree, hashes: readonly Buffer[]): Promise<{ tree: Tree; blocks: Block[] }> {
  const blocks: Block[] = [];
  let grown = tree;
  for (let at = 0; at < hashes.length; at += RECORDS_PER_TREE_STEP) {
    const more = growTree(grown, hashes.slice(at, at + RECORDS_PER_TREE_STEP));
    grown = more.tree;
    blocks.push(...more.blocks);
    await new Promise(setImmediate);
  }
  return { tree: grown, blocks };
}

/**
 * Makes checkpoints while a process of the signer has written something new, and keeps the file at the
 * database's state. An attacker who can write to the database can stop checkpoints, which raises an alarm,
 * but cannot have one made of forged records.
 */
export function startCheckpointer(options: CheckpointerOptions) {
  const { store, signer, clock, logger, ownHead, file, intervalMs, stalledMs = STALLED_MS } = options;
  let logged = 0;
  const alarm = (details: LogFields, message: string) => {
    options.onAlarm?.();
    logged += 1;
    if (logged <= MAX_LOGGED_ALARMS) logger.error(details, message);
    else if (logged === MAX_LOGGED_ALARMS + 1) logger.error("more alarms of the audit log are counted, not logged");
  };

  /**
   * Returns the hashes of the records after the covered ones, as far as the chain's process has signed them.
   */
  async function readSigned(basis: CheckpointBasis, chain: ChainState, from: number, to: number): Promise<Buffer[]> {
    const { chainId } = chain;
    const writer = readCertificate(chain.certificate, signer.keys);
    if (!writer) {
      alarm({ chainId }, "a chain of audit records was not begun by a process of the signer");
      return [];
    }
    const hashes: Buffer[] = [];
    let previousHash = chain.covered?.hash ?? genesisHash(chainId);
    // A batch that the process has not signed for this place is passed over: those behind it may be genuine.
    for await (const { lastSequence, hashes: added, signature } of basis.batches(chainId, from, to)) {
      const place = { chainId, first: lastSequence - added.length + 1, last: lastSequence, previousHash };
      const follows = added.length > 0 && place.first === from + hashes.length + 1;
      await new Promise(setImmediate); // Signatures that arrive meanwhile do not wait for the whole chain.
      if (!follows || !verifyBatch(writer, place, Buffer.concat(added), signature)) {
        alarm({ chainId, lastSequence }, "a batch of audit records was not written by its chain's process");
        continue;
      }
      for (const each of added) hashes.push(each);
      previousHash = added.at(-1)!.toString("hex");
    }
    return hashes;
  }

  /** Returns the tree over a chain's covered records as the audit key signed it; undefined if it is lost. */
  async function readCoveredTree(basis: CheckpointBasis, { chainId, covered }: ChainState): Promise<Tree | undefined> {
    if (!covered) return EMPTY_TREE;
    const { tree, checkpoint } = await basis.covered(chainId, covered.size);
    const head = checkpoint && readSignedCheckpoint(checkpoint)?.heads.find((each) => each.chainId === chainId);
    if (head?.size !== covered.size || head.hash !== covered.hash)
      return void alarm({ chainId }, "the checkpoint of a chain is not there or was changed");
    const fits = ({ tree: found }: { tree: Tree }) =>
      isTree(found, covered.size) && treeRoot(found).toString("hex") === head.root;
    if (fits({ tree })) return tree;
    alarm({ chainId }, "the stored tree of a chain is not the one that was signed; it is made again from the records");
    const { archived, hashes } = await basis.leaves(chainId, covered.size);
    const again = await growInTurns(archived, hashes);
    return fits(again) ? again.tree : void alarm({ chainId }, "records that are under a checkpoint were changed");
  }

  function readSignedCheckpoint(signed: SignedCheckpoint): Checkpoint | undefined {
    const checkpoint = parseCheckpoint(signed.text);
    return checkpoint && verifyAuditSignature(signed, checkpoint.keyVersion, signer.keys) ? checkpoint : undefined;
  }

  const lastTime = ({ text }: SignedCheckpoint): number => parseCheckpoint(text)!.time.getTime();

  async function grow(basis: CheckpointBasis, chain: ChainState, own: AuditHead | undefined) {
    const { chainId, head, covered } = chain;
    const from = covered?.size ?? 0;
    if (!head || !Number.isSafeInteger(head.size) || head.size < from)
      return void alarm({ chainId }, "a chain lost records that are under a checkpoint");
    if (head.size === from) return undefined;
    // One that records were put into, and a checkpoint was made without it: closed, and opened again.
    if (!covered && basis.last && chainBegan(chainId) < lastTime(basis.last) - CLOSE_CHAIN_AFTER_MS)
      return void alarm({ chainId }, "a chain that was closed, or had no checkpoint for an hour, has records");
    const hashes = await readSigned(basis, chain, from, head.size);
    const size = from + hashes.length;
    const hash = hashes.at(-1)?.toString("hex") ?? covered?.hash;
    if (size !== head.size || hash !== head.hash)
      alarm({ chainId, head: head.size, signed: size }, "the records of a chain are not those that its process signed");
    if (own?.chainId === chainId && Number(own.sequence) > from) {
      const remembered = hashes[Number(own.sequence) - from - 1];
      if (remembered?.toString("hex") !== own.hash) {
        alarm({ chainId }, "the records of a chain are not those that were written");
        // Signed, but not what was committed last; where it is only shorter, what is left is genuine.
        if (remembered) return undefined;
      }
    }
    const tree = hashes.length > 0 ? await readCoveredTree(basis, chain) : undefined;
    if (!tree || !hash) return undefined;
    const more = await growInTurns(tree, hashes);
    const root = treeRoot(more.tree).toString("hex");
    return { head: { chainId, size, hash, root }, ...more };
  }

  /** Returns whether the last checkpoint is signed, and covers of each chain what the database says. */
  function isSignedState({ last, chains }: CheckpointBasis): boolean {
    const covered = chains.flatMap((chain) => (chain.covered ? { chainId: chain.chainId, ...chain.covered } : []));
    if (!last) return covered.length === 0;
    const checkpoint = readSignedCheckpoint(last);
    const isLast = checkpoint?.sequence === last.sequence;
    return isLast && checkpoint.chainCount === covered.length && checkpoint.headsHash === allHeadsHash(covered);
  }

  async function build(basis: CheckpointBasis, own: AuditHead | undefined): Promise<NewCheckpoint | undefined> {
    if (!isSignedState(basis))
      return void alarm(
        { sequence: basis.last?.sequence },
        "no checkpoint is made: the last one, or the state that it covers, was changed in the database",
      );
    const now = clock.now();
    const heads: ChainEnd[] = [];
    const closed: ChainEnd[] = [];
    const grown: NewCheckpoint["grown"][number][] = [];
    for (const chain of basis.chains) {
      const more = await grow(basis, chain, own);
      if (more) grown.push(more);
      const covered = more?.head ?? chain.covered;
      if (!covered) continue;
      const end = { chainId: chain.chainId, size: covered.size, hash: covered.hash };
      const isWhole = chain.head?.size === end.size && chain.head.hash === end.hash;
      const isOver = isWhole && chain.lastAt.getTime() < now.getTime() - CLOSE_CHAIN_AFTER_MS;
      if (isOver && closed.length < MAX_CLOSED_PER_CHECKPOINT) closed.push(end);
      else heads.push(end);
    }
    if (grown.length === 0) return undefined;
    const keyVersion = signer.version();
    const checkpoint = {
      sequence: (basis.last?.sequence ?? 0) + 1,
      time: now,
      previousHash: basis.last ? checkpointHash(basis.last.text) : FIRST_PREVIOUS_HASH,
      keyVersion,
      chainCount: heads.length,
      headsHash: allHeadsHash(heads),
      heads: grown.map(({ head }) => head),
      closed,
    };
    const text = checkpointText(checkpoint);
    const signature = Buffer.from(await signer.sign(Buffer.from(text))).toString("hex");
    return { checkpoint, signed: { text, signature }, grown };
  }

  /**
   * Returns the database's first checkpoints behind the file. Where those are in an archive, the file goes on
   * with the archive's last one, which the database keeps.
   */
  async function readBehind(to: CheckpointFile): Promise<SignedCheckpoint[]> {
    const { sequence } = to.last();
    const behind = await store.after(sequence, CHECKPOINTS_PER_PAGE);
    if (!behind[0] || parseCheckpoint(behind[0].text)?.sequence === sequence + 1) return behind;
    const signed = await store.lastArchive();
    const archive = signed && readArchive(signed, signer.keys);
    if (!archive || archive.sequence <= sequence) return behind;
    const kept = await store.after(archive.sequence - 1, CHECKPOINTS_PER_PAGE);
    if (!kept[0] || checkpointHash(kept[0].text) !== archive.hash) return behind;
    to.continueAt({ sequence: archive.sequence - 1, hash: parseCheckpoint(kept[0].text)!.previousHash });
    return kept;
  }

  /**
   * Appends the database's further checkpoints to the file, also those of other processes, if they continue
   * it: up to the last one that the audit key has signed, which names all before by its hash.
   */
  async function fillFile(): Promise<void> {
    if (!file) return;
    for (;;) {
      const behind = await readBehind(file);
      const signed = behind.slice(0, behind.findLastIndex((each) => readSignedCheckpoint(each)) + 1);
      if (signed.length < behind.length) alarm({}, "the database has checkpoints that the audit key has not signed");
      if (signed.length > 0) await file.append(signed);
      if (signed.length < CHECKPOINTS_PER_PAGE) break;
    }
    const { sequence, hash } = file.last();
    if (sequence === 0) return;
    const [same] = await store.after(sequence - 1, 1);
    if (!same || checkpointHash(same.text) !== hash) {
      alarm({ sequence }, "the database has lost or changed checkpoints that the file has");
    }
  }

  let [comparedAt, comparedTo] = [Number.NEGATIVE_INFINITY, FIRST_CHAIN];
  /** Compares the next closed chains with the checkpoints that closed them. */
  async function compareClosed(): Promise<void> {
    if (performance.now() - comparedAt < CLOSED_LOOK_MS) return;
    comparedAt = performance.now();
    const chains = await store.closedChains(comparedTo, CLOSED_PER_LOOK);
    let [read, closed]: [SignedCheckpoint | undefined, readonly ChainEnd[] | undefined] = [undefined, undefined];
    for (const { chainId, size, hash, checkpoint } of chains) {
      // Chains that were closed together are mostly next to each other.
      if (checkpoint !== read) {
        await new Promise(setImmediate);
        const signed = checkpoint && readSignedCheckpoint(checkpoint);
        closed = signed && endedBy(signed);
        read = checkpoint;
      }
      const isSame = closed?.some((end) => end.chainId === chainId && end.size === size && end.hash === hash);
      if (!isSame) alarm({ chainId }, "a closed chain is not as the checkpoint that closed it says");
    }
    comparedTo = chains.length < CLOSED_PER_LOOK ? FIRST_CHAIN : chains.at(-1)!.chainId;
  }

  let lastGood = performance.now();
  async function look(): Promise<void> {
    logged = 0;
    try {
      // Before the rows are read: what is written from now on may be missing in them.
      const own = ownHead();
      if (await store.write((basis) => build(basis, own))) lastGood = performance.now();
      await fillFile();
      await compareClosed();
    } catch (err) {
      if (err instanceof CheckpointForkError) alarm({ err }, "the database's checkpoints are not those of the file");
      // Signing goes on: records are durable without a checkpoint, and the next one covers them.
      else logger.warn({ err }, "a checkpoint of the audit log failed; will retry");
    }
    if (performance.now() - lastGood > stalledMs) alarm({}, "no checkpoint of the audit log can be made for minutes");
  }

  const job = startPeriodicJob({ job: "audit checkpoints", intervalMs, fromBeginning: true, logger, run: look });

  return {
    /** Ends with a last checkpoint, so that a process that stops in order leaves nothing uncovered. */
    async close(): Promise<void> {
      await job.close();
      await look();
    },
  };
}
