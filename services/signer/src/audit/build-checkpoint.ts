import type { Clock, LogFields } from "@countersign/core";
import { type AuditSigner, signText } from "./audit-key.ts";
import type { AuditHead } from "./audit-store.ts";
import { readCertificate, verifyBatch } from "./batch.ts";
import {
  allHeadsHash,
  type ChainEnd,
  CLOSE_CHAIN_AFTER_MS,
  chainBegan,
  checkpointHash,
  checkpointText,
  FIRST_PREVIOUS_HASH,
  parseCheckpoint,
  readCheckpoint,
  type SignedCheckpoint,
} from "./checkpoint.ts";
import type { ChainState, CheckpointBasis, NewCheckpoint } from "./checkpoint-store.ts";
import { genesisHash } from "./record.ts";
import { type Block, EMPTY_TREE, growTree, isTree, type Tree, treeRoot } from "./tree.ts";

export interface BuildOptions {
  readonly signer: AuditSigner;
  readonly clock: Clock;
  /** Called for everything that shows a changed, forged or shortened log. */
  readonly alarm: (details: LogFields, message: string) => void;
}

/** The most chains that one checkpoint closes: its event stays small, also where none was ever closed. */
const MAX_CLOSED_PER_CHECKPOINT = 200;
/** Records that the tree takes at once. More would keep signatures waiting that arrive meanwhile. */
const RECORDS_PER_TREE_STEP = 128;

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

/** Returns the hashes of the records after the covered ones, as far as the chain's process signed them. */
async function readSigned(
  { signer, alarm }: BuildOptions,
  basis: CheckpointBasis,
  chain: ChainState,
  from: number,
  to: number,
): Promise<Buffer[]> {
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
async function readCoveredTree(
  { signer, alarm }: BuildOptions,
  basis: CheckpointBasis,
  { chainId, covered }: ChainState,
): Promise<Tree | undefined> {
  if (!covered) return EMPTY_TREE;
  const { tree, checkpoint } = await basis.covered(chainId, covered.size);
  const head = checkpoint && readCheckpoint(checkpoint, signer.keys)?.heads.find((each) => each.chainId === chainId);
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

const timeOf = ({ text }: SignedCheckpoint): number => parseCheckpoint(text)!.time.getTime();

/** Returns the head and tree of a chain with its new records; undefined where it has none that count. */
async function grow(options: BuildOptions, basis: CheckpointBasis, chain: ChainState, own: AuditHead | undefined) {
  const { alarm } = options;
  const { chainId, head, covered } = chain;
  const from = covered?.size ?? 0;
  if (!head || !Number.isSafeInteger(head.size) || head.size < from)
    return void alarm({ chainId }, "a chain lost records that are under a checkpoint");
  if (head.size === from) return undefined;
  // One that records were put into, and a checkpoint was made without it: closed, and opened again.
  if (!covered && basis.last && chainBegan(chainId) < timeOf(basis.last) - CLOSE_CHAIN_AFTER_MS)
    return void alarm({ chainId }, "a chain that was closed, or had no checkpoint for an hour, has records");
  const hashes = await readSigned(options, basis, chain, from, head.size);
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
  const tree = hashes.length > 0 ? await readCoveredTree(options, basis, chain) : undefined;
  if (!tree || !hash) return undefined;
  const more = await growInTurns(tree, hashes);
  const root = treeRoot(more.tree).toString("hex");
  return { head: { chainId, size, hash, root }, ...more };
}

/** Returns whether the last checkpoint is signed, and covers of each chain what the database says. */
function isSignedState({ signer }: BuildOptions, { last, chains }: CheckpointBasis): boolean {
  const covered = chains.flatMap((chain) => (chain.covered ? { chainId: chain.chainId, ...chain.covered } : []));
  if (!last) return covered.length === 0;
  const checkpoint = readCheckpoint(last, signer.keys);
  const isLast = checkpoint?.sequence === last.sequence;
  return isLast && checkpoint.chainCount === covered.length && checkpoint.headsHash === allHeadsHash(covered);
}

/**
 * Returns the next checkpoint over all chains; undefined where nothing is new, or the state that it would
 * continue was changed in the database. `own` is where the chain of this process ends, as it remembers it.
 */
export async function buildCheckpoint(
  options: BuildOptions,
  basis: CheckpointBasis,
  own: AuditHead | undefined,
): Promise<NewCheckpoint | undefined> {
  const { signer, clock, alarm } = options;
  if (!isSignedState(options, basis))
    return void alarm(
      { sequence: basis.last?.sequence },
      "no checkpoint is made: the last one, or the state that it covers, was changed in the database",
    );
  const now = clock.now();
  const heads: ChainEnd[] = [];
  const closed: ChainEnd[] = [];
  const grown: NewCheckpoint["grown"][number][] = [];
  for (const chain of basis.chains) {
    const more = await grow(options, basis, chain, own);
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
  return { checkpoint, signed: await signText(signer, checkpointText(checkpoint)), grown };
}
