import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { archiveText } from "../audit/archive.ts";
import type { SignedText } from "../audit/audit-key.ts";
import { batchText, certificateText } from "../audit/batch.ts";
import {
  allHeadsHash,
  type Checkpoint,
  checkpointHash,
  checkpointText,
  FIRST_PREVIOUS_HASH,
  type SignedCheckpoint,
} from "../audit/checkpoint.ts";
import { EXPORT_FORMAT } from "../audit/export-lines.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash } from "../audit/record.ts";
import { EMPTY_TREE, growTree, type Tree, treeRoot } from "../audit/tree.ts";
import { verifyExport } from "../audit/verify-export.ts";

export const auditKey = generateKeyPair();
export const auditKeys = new Map([[1, auditKey.publicKey]]);
export const time = new Date("2026-11-21T10:00:00Z");

/** Returns a text with the signature of the audit key, or of another one. */
export const signedText = (text: string, key = auditKey): SignedText => ({
  text,
  signature: Buffer.from(signMessage(key.privateKey, Buffer.from(text), "sha256")).toString("hex"),
});

export const auditEntry = (change: Partial<AuditEntry> = {}): AuditEntry => ({
  time,
  caller: "gateway",
  accountId: "01900000-0000-7000-8000-000000000001",
  sessionId: "01900000-0000-7000-8000-000000000002",
  operation: "transaction",
  chainName: "flow-emulator",
  messageHash: "a".repeat(64),
  scriptHash: "b".repeat(64),
  verdict: "signed",
  policyVersion: "header-2",
  keyVersion: 1,
  limitId: change.accountId ?? "01900000-0000-7000-8000-000000000001",
  ...change,
});

/** Returns the first record of a chain. */
export const firstRecord = (chainId: string, change: Partial<AuditEntry>): AuditRecord =>
  chainRecords({ chainId, sequence: 0n, hash: genesisHash(chainId) }, [auditEntry(change)])[0]!;

/** Returns a process's key for its batches, certified by the audit key or by another one. */
export function newWriter({ startedAt = time, certifiedBy = auditKey } = {}) {
  const { publicKey, privateKey } = generateKeyPair();
  const writerId = "01900000-0000-7000-8000-00000000aaaa";
  const text = certificateText({ writerId, startedAt, keyVersion: 1, publicKey });
  const signature = Buffer.from(signMessage(certifiedBy.privateKey, Buffer.from(text), "sha256")).toString("hex");
  return { certificate: { text, signature }, sign: (batch: Uint8Array) => signMessage(privateKey, batch, "sha256") };
}

/** Records of a chain with the signature over them as one batch. */
export function signedBatch(
  writer: ReturnType<typeof newWriter>,
  head: { chainId: string; hash: string },
  records: readonly AuditRecord[],
) {
  const place = { chainId: head.chainId, first: records[0]!.sequence, last: records.at(-1)!.sequence };
  const hashes = Buffer.from(records.map(({ hash }) => hash).join(""), "hex");
  return { records, signature: writer.sign(batchText({ ...place, previousHash: head.hash }, hashes)) };
}

export const chainIdOf = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;

/** Chains and checkpoints in memory, as signers would have made them; each `write` is one batch. */
export function auditWorld(writer = newWriter()) {
  const chains = new Map<string, { records: AuditRecord[]; lines: string[]; tree: Tree }>();
  const checkpoints: SignedCheckpoint[] = [];
  let previousHash = FIRST_PREVIOUS_HASH;
  const closedBefore = new Set<string>();
  /** Archived checkpoints, lines of each chain, closed chains; and the statement about the last archive. */
  const archived = { checkpoints: 0, lines: new Map<string, number>(), closed: new Set<string>() };
  let statement: SignedText | undefined;
  const linesOf = (until?: number): string[] => {
    const lines = [EXPORT_FORMAT];
    if (statement) lines.push(`begin ${JSON.stringify(statement)}`);
    if (until !== undefined) lines.push(`until ${until}`);
    for (const signed of checkpoints.slice(archived.checkpoints)) lines.push(`checkpoint ${JSON.stringify(signed)}`);
    for (const [chainId, { lines: own }] of chains) {
      if (archived.closed.has(chainId)) continue;
      const { size, hash } = headOf(chainId);
      lines.push(`chain ${chainId} ${size} ${hash} ${JSON.stringify(writer.certificate)}`);
      for (const line of own.slice(archived.lines.get(chainId) ?? 0)) lines.push(line);
    }
    return [...lines, "end"];
  };
  const headOf = (chainId: string) => {
    const { records } = chains.get(chainId)!;
    return { chainId, size: records.length, hash: records.at(-1)?.hash ?? genesisHash(chainId) };
  };
  return {
    chains,
    checkpoints,
    write(n: number, count: number, change: (i: number) => Partial<AuditEntry> = () => ({})): void {
      const chainId = chainIdOf(n);
      if (!chains.has(chainId)) chains.set(chainId, { records: [], lines: [], tree: EMPTY_TREE });
      const { size, hash } = headOf(chainId);
      const entries = Array.from({ length: count }, (_, i) => auditEntry(change(size + i)));
      const added = chainRecords({ chainId, sequence: BigInt(size), hash }, entries);
      const { records, lines } = chains.get(chainId)!;
      for (const record of added) {
        records.push(record);
        lines.push(`${record.hash} ${record.text}`);
      }
      const latest = added.reduce((last, record) => Math.max(last, record.time.getTime()), 0);
      const signature = Buffer.from(signedBatch(writer, { chainId, hash }, added).signature).toString("hex");
      lines.push(`batch ${added.at(-1)!.sequence} ${new Date(latest).toISOString()} ${signature}`);
    },
    /** Makes a checkpoint, which closes chains by their numbers; without a list it has the first format. */
    checkpoint(sign = auditKey, at = time, closing?: readonly number[]): void {
      const heads = [];
      for (const [chainId, chain] of chains) {
        if (chain.records.length === chain.tree.size) continue;
        const added = chain.records.slice(chain.tree.size).map(({ hash }) => Buffer.from(hash, "hex"));
        chain.tree = growTree(chain.tree, added).tree;
        heads.push({ ...headOf(chainId), root: treeRoot(chain.tree).toString("hex") });
      }
      for (const n of closing ?? []) closedBefore.add(chainIdOf(n));
      const open = [...chains.keys()].filter((chainId) => !closedBefore.has(chainId));
      const checkpoint: Checkpoint = {
        sequence: checkpoints.length + 1,
        time: at,
        previousHash,
        keyVersion: 1,
        chainCount: open.length,
        headsHash: allHeadsHash(open.map(headOf)),
        heads,
        ...(closing && { closed: closing.map((n) => headOf(chainIdOf(n))) }),
      };
      const text = checkpointText(checkpoint);
      const signature = Buffer.from(signMessage(sign.privateKey, Buffer.from(text), "sha256")).toString("hex");
      checkpoints.push({ text, signature });
      previousHash = checkpointHash(text);
    },
    /** The lines of an export of what is in no archive. */
    export: () => linesOf(),
    /** Takes out all that is under the last checkpoint, which must be all; returns the archive's lines. */
    async archive(change: object = {}, key = auditKey): Promise<string[]> {
      const lines = linesOf(checkpoints.length);
      const { end, sha256 } = await verifyExport(chunksOf(lines), { keys: auditKeys });
      const stated = {
        after: archived.checkpoints,
        sha256,
        keyVersion: 1,
        removedAt: time,
        by: "ada",
        approvedBy: "grace",
        reason: "space",
      };
      statement = signedText(archiveText({ ...end!, ...stated, ...change }), key);
      archived.checkpoints = checkpoints.length;
      for (const [chainId, { lines: own }] of chains) archived.lines.set(chainId, own.length);
      for (const chainId of closedBefore) archived.closed.add(chainId);
      return lines;
    },
  };
}

/** Returns the lines as a file would be read: in chunks that end anywhere. */
export async function* chunksOf(lines: readonly string[], size = 1000): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(`${lines.join("\n")}\n`);
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}
