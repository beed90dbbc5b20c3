import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { auditKey, auditKeys, auditWorld, chainIdOf, chunksOf, time } from "../testing/audit-fixture.ts";
import { beginEpoch, type EpochBasis } from "./begin-epoch.ts";
import { checkpointText, type SignedCheckpoint } from "./checkpoint.ts";
import { verifyExport } from "./verify-export.ts";

const stated = { by: "ada", reason: "disk lost", time, keyVersion: 1 };
const signed = (text: string, key = auditKey): SignedCheckpoint => ({
  text,
  signature: Buffer.from(signMessage(key.privateKey, Buffer.from(text), "sha256")).toString("hex"),
});
const file = (checkpoints: readonly SignedCheckpoint[]) => [{ name: "file", checkpoints }];

/**
 * A log of which the database went back behind its second checkpoint, with three records that only the third
 * one covered: chain 1 lost five of 13 records, chain 2 none, chain 3 all.
 */
async function restoredWorld() {
  const world = auditWorld();
  world.write(1, 5);
  world.write(2, 2);
  world.checkpoint();
  world.write(2, 1);
  world.checkpoint();
  world.write(1, 3);
  const database = [...world.checkpoints];
  const chains = [...world.chains].map(([chainId, { records }]) => ({
    ...{ chainId, size: records.length, hash: records.at(-1)!.hash, isClosed: false },
  }));
  const lines = world.export();
  const records = lines.slice(lines.findIndex((line) => line.startsWith("chain ")));
  world.write(1, 5);
  world.write(3, 4);
  world.checkpoint();
  const basis: EpochBasis = { database, elsewhere: file(world.checkpoints), chains, keys: auditKeys, wentBack: false };
  const epoch = (await beginEpoch(basis, stated))!;
  const known = [...world.checkpoints, signed(checkpointText(epoch.checkpoint))];
  const exported = (checkpoints: readonly SignedCheckpoint[], rows = records) => [
    lines[0]!,
    ...checkpoints.map((each) => `checkpoint ${JSON.stringify(each)}`),
    ...rows,
  ];
  const verify = (checkpoints: readonly SignedCheckpoint[], kept = known, rows = records) =>
    verifyExport(chunksOf(exported(checkpoints, rows)), { keys: auditKeys, elsewhere: file(kept) });
  return { world, basis, epoch, known, records, verify };
}

describe("an epoch of the audit log", () => {
  it("continues the last checkpoint that is known, and names what each chain lost", async () => {
    const { world, epoch } = await restoredWorld();
    expect(epoch.lost).toEqual(world.checkpoints.slice(2));
    const { sequence, closed, restore } = epoch.checkpoint;
    expect(sequence).toBe(4);
    expect(closed).toMatchObject([{ chainId: chainIdOf(2), size: 3 }]);
    expect(restore).toMatchObject({ by: "ada", reason: "disk lost", databaseSequence: 2 });
    expect(restore!.ends).toMatchObject([
      { chainId: chainIdOf(1), size: 13, kept: 8 },
      { chainId: chainIdOf(3), size: 4, kept: 0 },
    ]);
  });

  it("is what an auditor finds: the losses with who stated them, and no other problem", async () => {
    const { known, verify } = await restoredWorld();
    const statement = { sequence: 4, time, by: "ada", reason: "disk lost", databaseSequence: 2 };
    expect(await verify(known)).toMatchObject({
      problems: [],
      records: 11,
      losses: [
        { chainId: chainIdOf(1), first: 9, last: 13, statement },
        { chainId: chainIdOf(3), first: 1, last: 4, statement },
      ],
    });
  });

  it("is not begun where no checkpoint is lost, nor from checkpoints that do not fit together", async () => {
    const { world, basis } = await restoredWorld();
    expect(await beginEpoch({ ...basis, elsewhere: file(basis.database) }, stated)).toBeUndefined();
    const other = auditWorld();
    other.write(7, 1);
    for (let i = 0; i < 4; i += 1) other.checkpoint();
    await expect(beginEpoch({ ...basis, elsewhere: file(other.checkpoints) }, stated)).rejects.toThrow(
      "do not fit together",
    );
    const cut = file(world.checkpoints.toSpliced(2, 1, signed("[]")));
    await expect(beginEpoch({ ...basis, elsewhere: cut }, stated)).rejects.toThrow("unreadable");
  });

  it("is not begun behind an archive that the audit key has not signed, nor where the database has a gap", async () => {
    const { world, basis } = await restoredWorld();
    const archive = signed("[]", generateKeyPair());
    await expect(beginEpoch({ ...basis, archive }, stated)).rejects.toThrow("statement about the archive");
    const database = [world.checkpoints[0]!, world.checkpoints[2]!];
    await expect(beginEpoch({ ...basis, database }, stated)).rejects.toThrow("lacks a checkpoint in between");
  });

  it("names a chain that no checkpoint covers yet, which an export must have", async () => {
    const { world, basis } = await restoredWorld();
    const [uncovered] = basis.chains;
    const chainId = chainIdOf(9);
    const { checkpoint } = (await beginEpoch(
      { ...basis, chains: [...basis.chains, { ...uncovered!, chainId }] },
      stated,
    ))!;
    expect(checkpoint.restore!.ends).toContainEqual(expect.objectContaining({ chainId, size: 0, kept: 8 }));
    const checkpoints = [...world.checkpoints, signed(checkpointText(checkpoint))];
    const lines = [world.export()[0]!, ...checkpoints.map((each) => `checkpoint ${JSON.stringify(each)}`), "end"];
    const { problems } = await verifyExport(chunksOf(lines), { keys: auditKeys });
    expect(problems).toContain(`chain ${chainId} is missing`);
  });

  it("is begun after each restore, also where nobody kept the checkpoints that were lost", async () => {
    const { world, basis } = await restoredWorld();
    const elsewhere = file(basis.database);
    const { lost, checkpoint } = (await beginEpoch({ ...basis, elsewhere, wentBack: true }, stated))!;
    expect([lost, checkpoint.sequence, checkpoint.restore!.databaseSequence]).toEqual([[], 3, 2]);
    expect(checkpoint.restore!.ends).toMatchObject([{ chainId: chainIdOf(1), size: 5, kept: 8 }]);
    // A cut file and the stream's events together.
    const both = [...elsewhere, { name: "the events", checkpoints: world.checkpoints.slice(2) }];
    expect((await beginEpoch({ ...basis, elsewhere: both, wentBack: true }, stated))!.lost).toHaveLength(1);
  });

  it("takes no checkpoint with a signature that is not the audit key's", async () => {
    const { world, basis } = await restoredWorld();
    const { checkpoints } = world;
    const forged = checkpoints.with(2, signed(checkpoints[2]!.text, generateKeyPair()));
    await expect(beginEpoch({ ...basis, elsewhere: file(forged) }, stated)).rejects.toThrow(
      "not signed by the audit key",
    );
  });

  it("takes each lost checkpoint with a signature of its own, from any place", async () => {
    const { world, basis } = await restoredWorld();
    world.write(1, 1);
    world.checkpoint();
    // The fourth one signs for the third by its hash.
    const forged = world.checkpoints.with(2, signed(world.checkpoints[2]!.text, generateKeyPair()));
    await expect(beginEpoch({ ...basis, elsewhere: file(forged) }, stated)).rejects.toThrow("is not signed");
    const elsewhere = [...file(forged), ...file(world.checkpoints)];
    expect((await beginEpoch({ ...basis, elsewhere }, stated))!.lost).toEqual(world.checkpoints.slice(2));
  });

  it("ends a chain of other records, and one that a lost checkpoint closed, where the database has it", async () => {
    const world = auditWorld();
    for (const n of [1, 2, 3]) world.write(n, 2);
    world.checkpoint(undefined, time, []);
    const database = [...world.checkpoints];
    const chains = [...world.chains].map(([chainId, { records }]) => ({
      ...{ chainId, size: 2, hash: records[1]!.hash, isClosed: false },
    }));
    world.write(4, 2);
    world.checkpoint(undefined, time, []);
    world.checkpoint(undefined, time, [2, 4]);
    const endsOf = async (one: object, two: object) => {
      const changed = [{ ...chains[0]!, ...one }, { ...chains[1]!, ...two }, chains[2]!];
      const basis = { database, elsewhere: file(world.checkpoints), chains: changed, keys: auditKeys, wentBack: false };
      const { closed, restore } = (await beginEpoch(basis, stated))!.checkpoint;
      const named = (ends: readonly { chainId: string; kept?: number }[] = []) =>
        ends.map(({ chainId, kept }) => [Number(chainId.slice(-2)), kept]);
      return { closed: named(closed).map(([n]) => n), ends: named(restore!.ends) };
    };
    const lost = [4, 0];
    expect(await endsOf({}, {})).toMatchObject({ closed: [1, 3], ends: [[2, 2], lost] });
    expect(await endsOf({}, { isClosed: true })).toMatchObject({ ends: [lost] });
    expect(await endsOf({ hash: "ab".repeat(32) }, { isClosed: true })).toMatchObject({ ends: [[1, 2], lost] });
  });

  it("a second one names what the first one named, and brings nothing back", async () => {
    const { basis, known, records, verify } = await restoredWorld();
    const [, , , first] = known;
    // The database went back once more, to before the first statement.
    const again = (await beginEpoch({ ...basis, elsewhere: file(known) }, { ...stated, by: "grace" }))!;
    expect(again.checkpoint).toMatchObject({ sequence: 5, restore: { databaseSequence: 2 } });
    const all = [...known, signed(checkpointText(again.checkpoint))];
    const report = await verify(all, all);
    expect(report.problems).toEqual([]);
    expect(report.losses.map(({ first: from, last }) => [from, last])).toEqual([
      [9, 13],
      [1, 4],
    ]);
    // Records that were lost come back: somebody kept them from the first auditor.
    const { checkpoint } = again;
    const ends = checkpoint.restore!.ends.map((end) => ({ ...end, kept: end.size, keptHash: end.hash }));
    const revived = signed(checkpointText({ ...checkpoint, restore: { ...checkpoint.restore!, ends } }));
    const found = await verify([...known, revived], [...known, revived], records);
    expect(found.problems.join()).toContain("has records that were lost before");
    expect(first).toBeDefined();
  });
});

describe("an attacker who wants to hide records", () => {
  it("cannot remove what the statement says is kept", async () => {
    const { known, records, verify } = await restoredWorld();
    const [chain, ...rest] = records;
    const last = rest.findIndex((line) => line.startsWith("batch 8 "));
    const shorter = [chain!.replace(/ 8 [0-9a-f]{64}/, ` 5 ${rest[4]!.slice(0, 64)}`), ...rest.toSpliced(last - 3, 4)];
    expect((await verify(known, known, shorter)).problems.join()).toContain("does not end where the statement");
  });

  it("cannot state a loss without the audit key", async () => {
    const { known, epoch, verify } = await restoredWorld();
    const forged = [...known.slice(0, 3), signed(checkpointText(epoch.checkpoint), generateKeyPair())];
    expect((await verify(forged, forged)).problems).toContain("checkpoint 4 is not signed by the audit key");
  });

  it("cannot state it at another place than the last checkpoint's, nor of fewer records", async () => {
    const { known, epoch, verify } = await restoredWorld();
    const restore = epoch.checkpoint.restore!;
    const ends = restore.ends.map((end) => ({ ...end, size: end.size - 1 }));
    const less = [...known.slice(0, 3), signed(checkpointText({ ...epoch.checkpoint, restore: { ...restore, ends } }))];
    expect((await verify(less, less)).problems.join()).toContain("states a loss of chain");
  });

  it("cannot remove records and call it a restore: what the database's last checkpoint covers is there", async () => {
    const { basis, known, epoch, verify } = await restoredWorld();
    const chains = basis.chains.map((chain) => (chain.chainId === chainIdOf(1) ? { ...chain, size: 4 } : chain));
    await expect(beginEpoch({ ...basis, chains }, stated)).rejects.toThrow("no restore does that");
    const restore = epoch.checkpoint.restore!;
    const ends = restore.ends.map((end) => ({ ...end, kept: Math.min(end.kept, 4) }));
    const forged = [
      ...known.slice(0, 3),
      signed(checkpointText({ ...epoch.checkpoint, restore: { ...restore, ends } })),
    ];
    expect((await verify(forged, forged)).problems.join()).toContain("that no restore can cause");
  });

  it("cannot leave out checkpoints that an auditor kept", async () => {
    const { basis, known, verify } = await restoredWorld();
    // Of a file that was cut, with the audit key: the statement takes the place of the third checkpoint.
    const { database } = basis;
    const empty = { sequence: 3, previousHash: JSON.parse(known[2]!.text)[3] as string };
    const { checkpoint } = (await beginEpoch(basis, stated))!;
    const restore = { ...checkpoint.restore!, ends: [] };
    const hiding = [...database, signed(checkpointText({ ...checkpoint, ...empty, restore }))];
    expect((await verify(hiding, known)).problems.join()).toContain("checkpoint 3 is another one than elsewhere");
  });
});
