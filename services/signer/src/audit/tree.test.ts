import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { BLOCK_LEAVES, type Block, EMPTY_TREE, growTree, inclusionPath, treeRoot, verifyInclusion } from "./tree.ts";

const sha256 = (...parts: Uint8Array[]) => createHash("sha256").update(Buffer.concat(parts)).digest();
const hashes = Array.from({ length: 3 * BLOCK_LEAVES + 5 }, (_, i) => sha256(Buffer.from(String(i))));

/** MTH of RFC 9162 as it is written there. */
function mth(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return sha256(Buffer.from([0]), leaves[0]!);
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return sha256(Buffer.from([1]), mth(leaves.slice(0, split)), mth(leaves.slice(split)));
}

/** Grown in steps of uneven size, as checkpoints do. */
function grown(size: number) {
  let tree = EMPTY_TREE;
  const blocks: Block[] = [];
  for (let step = 1; tree.size < size; step = (step * 7) % 97) {
    const more = growTree(tree, hashes.slice(tree.size, Math.min(size, tree.size + step)));
    tree = more.tree;
    blocks.push(...more.blocks);
  }
  return { tree, blocks };
}

const source = {
  blockRoots: async (count: number) =>
    Array.from({ length: count }, (_, i) => mth(hashes.slice(i * BLOCK_LEAVES, (i + 1) * BLOCK_LEAVES))),
  recordHashes: async (from: number, to: number) => hashes.slice(from, to),
};
const sizes = [1, 2, 3, 4, 5, 7, 8, 9, 100, 1023, 1024, 1025, 2048, 2049, 3000, 3072, 3077];

describe("the tree over record hashes", () => {
  it("has the root of RFC 9162, however it grew", () => {
    expect(treeRoot(EMPTY_TREE)).toEqual(mth([]));
    for (const size of sizes) expect(treeRoot(grown(size).tree), String(size)).toEqual(mth(hashes.slice(0, size)));
  });

  it("reports each full block once", () => {
    const { blocks } = grown(hashes.length);
    expect(blocks.map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const { index, root } of blocks) {
      expect(root).toEqual(mth(hashes.slice(index * BLOCK_LEAVES, (index + 1) * BLOCK_LEAVES)));
    }
  });

  it("proves each record, and no other in its place", async () => {
    for (const size of sizes) {
      const root = treeRoot(grown(size).tree);
      const indexes = [0, 1, size >> 1, 1023, 1024, size - 2, size - 1].filter((index) => index >= 0 && index < size);
      for (const index of new Set(indexes)) {
        const path = await inclusionPath(source, index, size);
        expect(verifyInclusion(hashes[index]!, index, size, path, root), `${index} of ${size}`).toBe(true);
        expect(verifyInclusion(hashes[(index + 1) % hashes.length]!, index, size, path, root)).toBe(false);
        expect(verifyInclusion(hashes[index]!, index + 1, size, path, root)).toBe(false);
        expect(verifyInclusion(hashes[index]!, index, size, [...path, root], root)).toBe(false);
        if (path.length > 0) {
          expect(verifyInclusion(hashes[index]!, index, size, path.slice(1), root)).toBe(false);
          const changed = path.map((node, i) => (i === path.length - 1 ? sha256(node) : node));
          expect(verifyInclusion(hashes[index]!, index, size, changed, root)).toBe(false);
        }
      }
    }
  });
});
