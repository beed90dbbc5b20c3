import { describe, expect, it } from "vitest";
import { auditKeys, chainIdOf, signedText, time } from "../testing/audit-fixture.ts";
import {
  allHeadsHash,
  type ChainEnd,
  type Checkpoint,
  checkpointHash,
  checkpointText,
  FIRST_PREVIOUS_HASH,
  type SignedCheckpoint,
} from "./checkpoint.ts";
import { keptAtLeast, verifyCheckpoints } from "./verify-checkpoints.ts";

const hashOf = (digit: string) => digit.repeat(64);
const head = (n: number, size: number) => ({ chainId: chainIdOf(n), size, hash: hashOf("a"), root: hashOf("b") });

/** Signs checkpoints that follow each other; `open`: the chains that are open then. */
function rowOf(...checkpoints: (Partial<Checkpoint> & { open: ChainEnd[] })[]): SignedCheckpoint[] {
  let previousHash = FIRST_PREVIOUS_HASH;
  return checkpoints.map(({ open, ...given }, i) => {
    const opened = { chainCount: open.length, headsHash: allHeadsHash(open), heads: [], closed: [] };
    const text = checkpointText({ sequence: i + 1, time, previousHash, keyVersion: 1, ...opened, ...given });
    previousHash = checkpointHash(text);
    return signedText(text);
  });
}
const problemsOf = async (...given: Parameters<typeof rowOf>) =>
  (await verifyCheckpoints([{ name: "file", checkpoints: rowOf(...given) }], auditKeys, {})).problems;

const open = [head(1, 5), head(2, 3)];
const first = { heads: open, open };
const restored = (change: object) => {
  const { root: _, ...end } = head(1, 5);
  const ends = [{ ...end, kept: 7, keptHash: hashOf("c"), ...change }];
  return { open: [head(2, 3)], restore: { by: "ada", reason: "disk lost", databaseSequence: 1, ends } };
};

describe("checkpoints that the audit key has signed", () => {
  it("fit together", async () => {
    const grown = { heads: [head(2, 4)], open: [head(1, 5), head(2, 4)] };
    expect(await problemsOf(first, grown)).toEqual([]);
    expect(await problemsOf(first, restored({}))).toEqual([]);
  });

  it.each<[string, Parameters<typeof rowOf>[0], string]>([
    ["name a chain again that has not grown", { open, heads: [head(2, 3)] }, "takes chain"],
    ["state a loss of a chain with another last record", restored({ hash: hashOf("d") }), "at another place"],
    ["count other chains", { open, chainCount: 1 }, "signs for other heads"],
    ["have another hash over all chains", { open, headsHash: hashOf("d") }, "signs for other heads"],
  ])("and %s do not", async (_, second, problem) => {
    expect(await problemsOf(first, second)).toEqual([expect.stringContaining(problem)]);
  });
});

it("a database that went back has what its last checkpoint covered, unless that was lost before", () => {
  const heads = [3, 5].map((size, i) => ({ ...head(1, size), sequence: i + 1, time, previousTime: undefined }));
  expect([0, 1, 2, 9].map((sequence) => keptAtLeast(heads, sequence, undefined))).toEqual([0, 3, 5, 5]);
  expect(keptAtLeast(heads, 2, { kept: 2 })).toBe(2);
  expect(keptAtLeast(heads, 1, { kept: 4 })).toBe(3);
});
