import { reportFailure } from "@countersign/build/fail.ts";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { command, runCommand, UsageError } from "@countersign/runtime/command.ts";
import { batchText, certificateText } from "../../services/signer/src/audit/batch.ts";
import {
  allHeadsHash,
  checkpointHash,
  checkpointText,
  FIRST_PREVIOUS_HASH,
} from "../../services/signer/src/audit/checkpoint.ts";
import { EXPORT_FORMAT } from "../../services/signer/src/audit/export-lines.ts";
import { type AuditEntry, chainRecords, genesisHash } from "../../services/signer/src/audit/record.ts";
import { EMPTY_TREE, growTree, treeRoot } from "../../services/signer/src/audit/tree.ts";
import { verifyExport } from "../../services/signer/src/audit/verify-export.ts";

/** Records under one checkpoint. */
const PER_CHECKPOINT = 3000;
const chainId = "01900000-0000-7000-8000-000000000001";
const key = generateKeyPair();

const entry = (i: number): AuditEntry => ({
  time: new Date(1_795_000_000_000 + i),
  caller: "gateway",
  accountId: `01900000-0000-7000-8000-${String(i % 1000).padStart(12, "0")}`,
  sessionId: `01900000-0000-7000-9000-${String(i % 1000).padStart(12, "0")}`,
  operation: i % 2 === 0 ? "transaction" : "paymaster",
  chainName: "flow-mainnet",
  messageHash: genesisHash(String(i)),
  scriptHash: genesisHash(String(i % 50)),
  verdict: "signed",
  policyVersion: "header-2",
  keyVersion: 1,
  limitId: "",
});

const writer = generateKeyPair();
const certificate = (() => {
  const { publicKey } = writer;
  const text = certificateText({ writerId: chainId, startedAt: entry(0).time, keyVersion: 1, publicKey });
  return { text, signature: Buffer.from(signMessage(key.privateKey, Buffer.from(text), "sha256")).toString("hex") };
})();
/** Makes an export of so many records in memory, in batches of one chain, then measures its verification. */
async function measure(total: number, perBatch: number): Promise<void> {
  const records: Buffer[] = [];
  const checkpoints: string[] = [];
  let head = { chainId, sequence: 0n, hash: genesisHash(chainId) };
  let tree = EMPTY_TREE;
  let previousHash = FIRST_PREVIOUS_HASH;
  for (let from = 0; from < total; from += PER_CHECKPOINT) {
    const count = Math.min(PER_CHECKPOINT, total - from);
    for (let first = from; first < from + count; first += perBatch) {
      const some = Array.from({ length: Math.min(perBatch, from + count - first) }, (_, i) => entry(first + i));
      const added = chainRecords(head, some);
      const hashes = added.map(({ hash }) => Buffer.from(hash, "hex"));
      const { sequence, hash, time } = added.at(-1)!;
      const place = { chainId, first: head.sequence + 1n, last: sequence, previousHash: head.hash };
      const signed = signMessage(writer.privateKey, batchText(place, Buffer.concat(hashes)), "sha256");
      const batch = `batch ${sequence} ${time.toISOString()} ${Buffer.from(signed).toString("hex")}\n`;
      records.push(Buffer.from(added.map((record) => `${record.hash} ${record.text}\n`).join("") + batch));
      head = { chainId, sequence, hash };
      tree = growTree(tree, hashes).tree;
    }
    const last = { chainId, size: tree.size, hash: head.hash };
    const text = checkpointText({
      sequence: checkpoints.length + 1,
      time: new Date(1_795_000_000_000 + from + count),
      previousHash,
      keyVersion: 1,
      chainCount: 1,
      headsHash: allHeadsHash([last]),
      heads: [{ ...last, root: treeRoot(tree).toString("hex") }],
    });
    const signature = Buffer.from(signMessage(key.privateKey, Buffer.from(text), "sha256")).toString("hex");
    checkpoints.push(`checkpoint ${JSON.stringify({ text, signature })}`);
    previousHash = checkpointHash(text);
  }

  async function* file(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${EXPORT_FORMAT}\n${checkpoints.join("\n")}\n`);
    yield Buffer.from(`chain ${chainId} ${head.sequence} ${head.hash} ${JSON.stringify(certificate)}\n`);
    yield* records;
    yield Buffer.from("end\n");
  }

  const started = performance.now();
  const report = await verifyExport(file(), { keys: new Map([[1, key.publicKey]]) });
  const seconds = (performance.now() - started) / 1000;
  if (report.problems.length > 0) throw new Error(report.problems.join("; "));
  const size = Math.round(records.reduce((sum, { length }) => sum + length, 0) / 2 ** 20);
  console.log(
    `${report.records} records (${size} MiB) under ${report.checkpoints} checkpoints verified in ${seconds.toFixed(1)} s`,
  );
}

const auditVerify = command({
  usage: "[--records <n>] [--per-batch <n>]",
  about: "Measures how long `signer audit verify` takes for an export of that many records, in one chain.",
  options: { records: { type: "string", default: "1000000" }, "per-batch": { type: "string", default: "32" } },
  async run({ values }) {
    const [total, perBatch] = [Number(values.records), Number(values["per-batch"])];
    if (!(total > 0 && perBatch > 0)) throw new UsageError(this.usage);
    await measure(total, perBatch);
  },
});

await runCommand("node bench/src/audit-verify.ts", [auditVerify], reportFailure);
