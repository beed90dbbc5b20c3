import { hash } from "node:crypto";

// The Merkle tree of RFC 9162, section 2.1, over a chain's record hashes (32 bytes each, in sequence).

const HASH_BYTES = 32;
const LEAF = Buffer.of(0);
const PAIR = Buffer.of(1);

/** Returns the hashes that were put one behind the other. */
export function splitHashes(joined: Uint8Array): Buffer[] {
  const bytes = Buffer.from(joined.buffer, joined.byteOffset, joined.byteLength);
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, i) =>
    bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES),
  );
}

/** Returns the node of one record hash. */
const leafNode = (recordHash: Uint8Array): Buffer => hash("sha256", Buffer.concat([LEAF, recordHash]), "buffer");

const parentNode = (left: Uint8Array, right: Uint8Array): Buffer =>
  hash("sha256", Buffer.concat([PAIR, left, right]), "buffer");

/**
 * Leaves of one block. The roots of full blocks are kept, so that a proof needs the records of two blocks and
 * not of the whole chain.
 */
export const BLOCK_LEAVES = 1024;

/** A tree that only grows: the roots of its perfect subtrees, the largest first. */
export interface Tree {
  readonly size: number;
  readonly frontier: readonly Buffer[];
}
export const EMPTY_TREE: Tree = { size: 0, frontier: [] };

/**
 * Returns whether the tree has the form of one of `size` leaves: as many perfect subtrees as the size has
 * ones.
 */
export function isTree({ size, frontier }: Tree, leaves: number): boolean {
  const ones = [...leaves.toString(2)].filter((digit) => digit === "1").length;
  return size === leaves && frontier.length === ones;
}

/** The root of a block that became full. */
export interface Block {
  readonly index: number;
  readonly root: Buffer;
}

/** Returns the tree with these record hashes behind its last one, and the blocks that became full. */
export function growTree(tree: Tree, recordHashes: readonly Uint8Array[]): { tree: Tree; blocks: Block[] } {
  const frontier = [...tree.frontier];
  const blocks: Block[] = [];
  let size = tree.size;
  for (const recordHash of recordHashes) {
    let node = leafNode(recordHash);
    let width = 1;
    // Each 1 at the low end of the size is a perfect subtree of that width that the new one completes.
    for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2) {
      node = parentNode(frontier.pop()!, node);
      width *= 2;
      if (width === BLOCK_LEAVES) blocks.push({ index: Math.floor(size / BLOCK_LEAVES), root: node });
    }
    frontier.push(node);
    size += 1;
  }
  return { tree: { size, frontier }, blocks };
}

/** Returns the root, 32 bytes; of an empty tree the SHA-256 of nothing. */
export const treeRoot = ({ frontier }: Tree): Buffer =>
  frontier.length === 0 ? hash("sha256", "", "buffer") : frontier.reduceRight((right, left) => parentNode(left, right));

const splitOf = (count: number): number => {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
};

function rootOf(nodes: readonly Buffer[]): Buffer {
  if (nodes.length === 1) return nodes[0]!;
  const split = splitOf(nodes.length);
  return parentNode(rootOf(nodes.slice(0, split)), rootOf(nodes.slice(split)));
}

/** Returns the nodes beside the way from node `index` to the root over `nodes`, the lowest first. */
function pathOf(nodes: readonly Buffer[], index: number): Buffer[] {
  if (nodes.length === 1) return [];
  const split = splitOf(nodes.length);
  const [left, right] = [nodes.slice(0, split), nodes.slice(split)];
  return index < split ? [...pathOf(left, index), rootOf(right)] : [...pathOf(right, index - split), rootOf(left)];
}

/** The stored hashes from which a proof is made; leaves count from 0. */
export interface TreeSource {
  /** The roots of the first `count` blocks. */
  blockRoots(count: number): Promise<Buffer[]>;
  /** Record hashes of the leaves from `from` up to, without, `to`. */
  recordHashes(from: number, to: number): Promise<Buffer[]>;
}

/** Returns the inclusion path of leaf `index` in the tree of the first `size` leaves. */
export async function inclusionPath(source: TreeSource, index: number, size: number): Promise<Buffer[]> {
  const fullBlocks = Math.floor(size / BLOCK_LEAVES);
  const own = Math.floor(index / BLOCK_LEAVES);
  const leavesOf = async (block: number) => {
    const from = block * BLOCK_LEAVES;
    return (await source.recordHashes(from, Math.min(from + BLOCK_LEAVES, size))).map(leafNode);
  };
  const leaves = await leavesOf(own);
  const inBlock = pathOf(leaves, index - own * BLOCK_LEAVES);
  // Blocks are perfect but for the last, so the tree over their roots is the tree over all leaves.
  const roots = await source.blockRoots(fullBlocks);
  if (size > fullBlocks * BLOCK_LEAVES) roots.push(rootOf(own === fullBlocks ? leaves : await leavesOf(fullBlocks)));
  return [...inBlock, ...pathOf(roots, own)];
}

/**
 * Returns whether `path` leads from the record hash at leaf `index` to the root of the tree of `size` leaves:
 * RFC 9162, section 2.1.3.2.
 */
export function verifyInclusion(
  recordHash: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return false;
  let [node, position, last] = [leafNode(recordHash), index, size - 1];
  const half = (value: number) => Math.floor(value / 2);
  for (const beside of path) {
    if (beside.length !== 32 || last === 0) return false;
    if (position % 2 === 1 || position === last) {
      node = parentNode(beside, node);
      while (position % 2 === 0 && position !== 0) [position, last] = [half(position), half(last)];
    } else node = parentNode(node, beside);
    [position, last] = [half(position), half(last)];
  }
  return last === 0 && node.equals(root);
}
