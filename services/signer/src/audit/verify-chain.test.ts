import { expect, it } from "vitest";
import { auditKeys, auditWorld, chainIdOf, newWriter, time } from "../testing/audit-fixture.ts";
import { readCertificate } from "./batch.ts";
import { type AuditRecord, sha256 } from "./record.ts";
import { beginChain, type ClaimedChain, endProblems, takeRecord } from "./verify-chain.ts";

const world = auditWorld();
world.write(1, 2);
world.write(2, 2);
const other = auditWorld();
other.write(1, 2, () => ({ caller: "another" }));
const recordsOf = ({ chains }: typeof world, n = 1) => chains.get(chainIdOf(n))!.records;
const [one, two] = recordsOf(world) as [AuditRecord, AuditRecord];
const lineOf = (text: string) => Buffer.from(`${sha256(text)} ${text}`);

const newChain = (change: Partial<ClaimedChain> = {}) => {
  const writer = readCertificate(newWriter().certificate, auditKeys)!;
  const claimed = { chainId: chainIdOf(1), writer, headSize: 2, headHash: two.hash, heads: [], lastTime: undefined };
  return beginChain({ ...claimed, ...change }, undefined);
};

/** The chain at the end of a batch with these records. */
const whole = (change: Partial<ClaimedChain>, texts = [one.text, two.text]) => {
  const chain = newChain(change);
  for (const text of texts) takeRecord(chain, lineOf(text));
  return { ...chain, batch: { ...chain.batch, hashes: [] } };
};

it.each<[string, string]>([
  ["record 2 is of another chain", recordsOf(world, 2)[1]!.text],
  ["record 2 does not follow the one before", recordsOf(other)[1]!.text],
  ["record 2 has no time", two.text.replace(time.toISOString(), "2026-11-21 10:00:00.0000")],
  ["record 2 has no time", two.text.replace(time.toISOString(), `${time.toISOString()}0`)],
])("%s: a line whose hash is right", (problem, text) => {
  const chain = newChain();
  expect(takeRecord(chain, lineOf(one.text))).toBe("");
  expect(takeRecord(chain, lineOf(text))).toBe(problem);
});

it("a root that is not the records' is found, though the last record is the signed one", () => {
  const head = { chainId: chainIdOf(1), size: 1, hash: one.hash, root: "00".repeat(32) };
  const heads = [{ ...head, sequence: 1, time, previousTime: undefined }];
  expect(takeRecord(newChain({ heads }), lineOf(one.text))).toContain("root");
});

it("a chain that lost records in a restore ends where the statement says, with the record that it says", () => {
  const end = { chainId: chainIdOf(1), size: 5, hash: "" };
  const found = (kept: number, keptHash: string, texts = [one.text, two.text]) => {
    const { hash: headHash = "" } = [one, two][texts.length - 1] ?? {};
    return endProblems(whole({ headSize: texts.length, headHash }, texts), true, { ...end, kept, keptHash });
  };
  const elsewhere = ["it does not end where the statement about the restore says"];
  expect(found(2, two.hash)).toEqual([]);
  expect(found(1, two.hash)).toEqual(elsewhere);
  expect(found(2, one.hash)).toEqual(elsewhere);
  expect(found(0, one.hash, [])).toEqual(expect.not.arrayContaining(elsewhere));
});

it.each([{ headSize: 1 }, { headHash: one.hash }])("a head that is not the last record is found: %j", (claimed) => {
  expect(endProblems(whole({}), false, undefined)).toEqual([]);
  expect(endProblems(whole(claimed), false, undefined)).toEqual(["its head is not its last record"]);
});
