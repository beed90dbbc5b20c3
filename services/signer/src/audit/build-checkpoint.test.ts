import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { signMessage } from "@countersign/keys/node";
import { createLogger } from "@countersign/runtime";
import { beforeEach, describe, expect, it } from "vitest";
import { auditEntry, auditKey, auditKeys, chainIdOf, newWriter, signedBatch, time } from "../testing/audit-fixture.ts";
import { buildCheckpoint } from "./build-checkpoint.ts";
import { CheckpointForkError } from "./checkpoint-file.ts";
import type { ChainState, CheckpointBasis, CheckpointStore, NewCheckpoint, StoredBatch } from "./checkpoint-store.ts";
import { type CheckpointerOptions, startCheckpointer } from "./checkpointer.ts";
import { chainRecords, genesisHash } from "./record.ts";
import { EMPTY_TREE } from "./tree.ts";

const clock = new FixedClock(time.toISOString());
const signer = {
  version: () => 1,
  keys: auditKeys,
  sign: async (text: Uint8Array) => signMessage(auditKey.privateKey, text, "sha256"),
};
const chainId = chainIdOf(1);
const writer = newWriter();
const start = { chainId, sequence: 0n, hash: genesisHash(chainId) };
const records = chainRecords(
  start,
  Array.from({ length: 7 }, () => auditEntry()),
);
const hashes = records.map(({ hash }) => Buffer.from(hash, "hex"));
const endAt = (size: number) => ({ size, hash: records[size - 1]!.hash });
/** The records behind `from` as one batch. */
const batch = (from: number, to: number): StoredBatch => {
  const before = from === 0 ? start : { chainId, hash: endAt(from).hash };
  const { signature } = signedBatch(writer, before, records.slice(from, to));
  return { lastSequence: to, hashes: hashes.slice(from, to), signature };
};
const chainAt = (size: number, covered?: number): ChainState => ({
  ...{ chainId, certificate: writer.certificate, lastAt: time },
  ...{ head: endAt(size), covered: covered === undefined ? undefined : endAt(covered) },
});
const unsigned = <T extends object>(signed: T): T => ({ ...signed, signature: "00".repeat(64) });

let alarms: string[];
let first: NewCheckpoint;
/** After a checkpoint over five records, with two more. */
let basis: CheckpointBasis;
const build = (change: Partial<CheckpointBasis> = {}, own?: Parameters<typeof buildCheckpoint>[2]) =>
  buildCheckpoint({ signer, clock, alarm: (_, message) => alarms.push(message) }, { ...basis, ...change }, own);

beforeEach(async () => {
  alarms = [];
  const leaves: CheckpointBasis["leaves"] = async (_, to) => ({ archived: EMPTY_TREE, hashes: hashes.slice(0, to) });
  const batches: CheckpointBasis["batches"] = async function* (_, from, to) {
    yield batch(from, to);
  };
  const none = { last: undefined, chains: [chainAt(5)], leaves, batches };
  first = (await build({ ...none, covered: () => Promise.reject(new Error("nothing is covered")) }))!;
  basis = {
    ...{ leaves, batches, last: { ...first.signed, sequence: 1 }, chains: [chainAt(7, 5)] },
    covered: async () => ({ tree: first.grown[0]!.tree, checkpoint: first.signed }),
  };
});

it("a checkpoint continues the one before with what its chains' processes signed since", async () => {
  expect(await build()).toMatchObject({
    checkpoint: { sequence: 2, chainCount: 1, heads: [{ chainId, ...endAt(7) }], closed: [] },
  });
  expect(alarms).toEqual([]);
});

it.each<[string, () => Partial<CheckpointBasis>]>([
  ["the last one is missing", () => ({ last: undefined })],
  ["the last one is not signed", () => ({ last: unsigned(basis.last!) })],
  ["the last one has another number", () => ({ last: { ...basis.last!, sequence: 2 } })],
  ["a chain is covered up to another record", () => ({ chains: [chainAt(7, 4)] })],
  [
    "the chain's last checkpoint is not signed",
    () => ({ covered: async () => ({ tree: first.grown[0]!.tree, checkpoint: unsigned(first.signed) }) }),
  ],
  [
    "tree and records under the last one were changed",
    () => ({
      covered: async () => ({ tree: EMPTY_TREE, checkpoint: first.signed }),
      leaves: async (_, to) => ({ archived: EMPTY_TREE, hashes: hashes.toReversed().slice(0, to) }),
    }),
  ],
])("none is made, with an alarm, where %s", async (_, change) => {
  expect(await build(change())).toBeUndefined();
  expect(alarms).not.toEqual([]);
});

it("none is made where the end of a quiet chain was changed, though another one has new records", async () => {
  const id = uuidv7(clock);
  const began = { chainId: id, sequence: 0n, hash: genesisHash(id) };
  const added = chainRecords(began, [auditEntry()]);
  const { hash } = added[0]!;
  const { signature } = signedBatch(writer, began, added);
  const batches: CheckpointBasis["batches"] = async function* () {
    yield { lastSequence: 1, hashes: [Buffer.from(hash, "hex")], signature };
  };
  const chains = (quiet: ChainState) => [quiet, { ...chainAt(1), chainId: id, head: { size: 1, hash } }];
  expect(await build({ batches, chains: chains(chainAt(5, 5)) })).toMatchObject({ checkpoint: { chainCount: 2 } });
  expect(alarms).toEqual([]);
  const changed = { size: 5, hash: "ab".repeat(32) };
  const quiet = { ...chainAt(5), head: changed, covered: changed };
  expect(await build({ batches, chains: chains(quiet) })).toBeUndefined();
  expect(alarms).toHaveLength(1);
});

it("none is made of other records than this process remembers; one that lost records covers those that are left", async () => {
  const own = { chainId, sequence: 7n, hash: "ab".repeat(32) };
  for (const mine of [
    { ...own, hash: endAt(7).hash },
    { ...own, chainId: chainIdOf(2) },
  ])
    expect(await build({}, mine)).toBeDefined();
  expect(alarms).toEqual([]);
  expect(await build({}, own)).toBeUndefined();
  expect(await build({}, { ...own, sequence: 9n })).toMatchObject({ checkpoint: { heads: [endAt(7)] } });
  expect(alarms).toEqual(Array(2).fill("the records of a chain are not those that were written"));
});

it("a chain is closed after an hour, and only where its process signed it to its end", async () => {
  const lastAt = new Date(time.getTime() - 3_600_001);
  const other = { ...chainAt(7, 5), lastAt };
  expect(await build({ chains: [other] })).toMatchObject({ checkpoint: { closed: [endAt(7)], chainCount: 0 } });
  for (const head of [
    { size: 9, hash: endAt(7).hash },
    { size: 7, hash: "ab".repeat(32) },
  ]) {
    const batches: CheckpointBasis["batches"] = async function* (_, from) {
      yield batch(from, 7);
    };
    const made = await build({ batches, chains: [{ ...other, head }] });
    expect(made).toMatchObject({ checkpoint: { closed: [], chainCount: 1, heads: [endAt(7)] } });
  }
  expect(alarms).toEqual(Array(2).fill("the records of a chain are not those that its process signed"));
});

describe("the checkpointer", () => {
  const logger = createLogger({ name: "test", level: "silent" });
  const started = (change: Partial<CheckpointerOptions>) => {
    const store = {
      ...{ write: async () => true, after: async () => [first.signed] },
      ...{ lastArchive: async () => undefined, closedChains: async () => [] },
    };
    const onAlarm = () => alarms.push("alarm");
    const own = { ownHead: () => undefined, intervalMs: 60_000, onAlarm };
    return startCheckpointer({ ...{ store, signer, clock, logger: logger }, ...own, ...change });
  };

  it("makes none of other records than its process remembered before it read the database's", async () => {
    const made: unknown[] = [];
    let own = { chainId, sequence: 7n, hash: "ab".repeat(32) };
    const write: CheckpointStore["write"] = async (make) => {
      own = { ...own, hash: endAt(7).hash };
      made.push(await make(basis));
      return true;
    };
    const store = { write, after: async () => [], lastArchive: async () => undefined, closedChains: async () => [] };
    await started({ store, ownHead: () => own }).close();
    expect(made[0]).toBeUndefined();
    expect(alarms).toEqual(["alarm"]);
  });

  it("raises an alarm where the database's checkpoints do not continue the file", async () => {
    const append = async () => {
      throw new CheckpointForkError("another history");
    };
    const last = () => ({ sequence: 0, hash: "" });
    await started({ file: { last, append, continueAt: () => undefined } }).close();
    expect(alarms).not.toEqual([]);
  });
});
