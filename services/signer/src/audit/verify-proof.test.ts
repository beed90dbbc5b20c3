import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { auditKey, auditKeys, auditWorld, chainIdOf, time } from "../testing/audit-fixture.ts";
import { RECORD_TIME_TOLERANCE_MS } from "./verify-checkpoints.ts";
import { verifyProof } from "./verify-proof.ts";

/** A proof of the only record of chain `n`, under a checkpoint of three chains. */
function proofOf(n: number, { recordedAt = time, sign = auditKey, chains = [1, 2, 3] } = {}) {
  const world = auditWorld();
  for (const each of [1, 2, 3]) world.write(each, 1, () => ({ time: recordedAt }));
  const { text: record } = world.chains.get(chainIdOf(n))!.records[0]!;
  for (const each of world.chains.keys()) if (!chains.map(chainIdOf).includes(each)) world.chains.delete(each);
  world.checkpoint(sign);
  const { text: checkpoint, signature: checkpointSignature } = world.checkpoints[0]!;
  return { record, checkpoint, checkpointSignature, path: [] };
}
const verify = (proof: ReturnType<typeof proofOf>) => verifyProof(proof, auditKeys);

it("a proof shows a record of any of the checkpoint's chains", () => {
  for (const n of [1, 2, 3])
    expect(verify(proofOf(n))).toMatchObject({ chainId: chainIdOf(n), sequence: 1, verdict: "signed", checkpoint: 1 });
});

it.each<[string, string, ReturnType<typeof proofOf>]>([
  ["whose checkpoint another key signed", "signed", proofOf(2, { sign: generateKeyPair() })],
  ["of a chain that the checkpoint does not name", "chain", proofOf(2, { chains: [1, 3] })],
  ["of another record", "path", { ...proofOf(2), record: proofOf(2).record.replace("gateway", "another") }],
  [
    "of a text that is no record",
    "readable",
    { ...proofOf(2), record: proofOf(2).record.replace("audit-1", "audit-2") },
  ],
  [
    "of a record that is later than the checkpoint",
    "later",
    proofOf(2, { recordedAt: new Date(time.getTime() + RECORD_TIME_TOLERANCE_MS + 1) }),
  ],
])("a proof %s shows nothing", (_, problem, proof) => {
  expect(verify(proof)).toContain(problem);
});
