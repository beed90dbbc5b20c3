import { generateKeyPair, signMessage } from "@countersign/keys/node";
import {
  allHeadsHash,
  checkpointHash,
  checkpointText,
  FIRST_PREVIOUS_HASH,
} from "../../services/signer/src/audit/checkpoint.ts";
import { type AuditEntry, chainRecords, genesisHash } from "../../services/signer/src/audit/record.ts";
import { EMPTY_TREE, growTree, treeRoot } from "../../services/signer/src/audit/tree.ts";
import { verifyExport } from "../../services/signer/src/audit/verify-export.ts";

/**
 * `node bench/src/audit-verify.ts [records]`: how long `signer audit verify` takes for an export of that many records, default a million, in one chain with a
 * checkpoint for each three thousand. The export is made in memory first; only the check is timed.
 */
const COUNT = Number(process.argv[2] ?? 1_000_000);
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
});

const records: Buffer[] = [];
const checkpoints: string[] = [];
let head = { chainId, sequence: 0n, hash: genesisHash(chainId) };
let tree = EMPTY_TREE;
let previousHash = FIRST_PREVIOUS_HASH;
for (let from = 0; from < COUNT; from += PER_CHECKPOINT) {
  const count = Math.min(PER_CHECKPOINT, COUNT - from);
  const added = chainRecords(
    head,
    Array.from({ length: count }, (_, i) => entry(from + i)),
  );
  records.push(Buffer.from(added.map((record) => `${record.hash} ${record.text}\n`).join("")));
  head = { chainId, sequence: added.at(-1)!.sequence, hash: added.at(-1)!.hash };
  tree = growTree(
    tree,
    added.map(({ hash }) => Buffer.from(hash, "hex")),
  ).tree;
  const last = { chainId, size: tree.size, hash: head.hash };
  const text = checkpointText({
    sequence: checkpoints.length + 1,
    time: new Date(1_795_000_000_000 + from),
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
  yield Buffer.from(`countersign-audit-export-1\n${checkpoints.join("\n")}\n`);
  yield Buffer.from(`chain ${chainId} ${head.sequence} ${head.hash}\n`);
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
