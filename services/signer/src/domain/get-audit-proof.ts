import { AppError, invalidField } from "@countersign/core";
import type { AuditReceipt } from "../audit/audit-log.ts";
import type { SignedCheckpoint } from "../audit/checkpoint.ts";
import { previousHashOf, sha256 } from "../audit/record.ts";
import { inclusionPath, type TreeSource } from "../audit/tree.ts";

/** The audit log as proofs read it. */
export interface AuditReader {
  recordText(chainId: string, sequence: bigint): Promise<string | undefined>;
  /** The first checkpoint that covers the record, and how many records of the chain it covers. */
  covering(chainId: string, sequence: bigint): Promise<{ checkpoint: SignedCheckpoint; size: number } | undefined>;
  tree(chainId: string): TreeSource;
}

/**
 * A record with its place: the SHA-256 of `text` is the receipt's hash, and `path` leads from it to the
 * chain's root in the checkpoint.
 */
export interface AuditProof {
  readonly text: string;
  /** Hex. */
  readonly previousHash: string;
  readonly checkpoint: SignedCheckpoint;
  readonly path: readonly Uint8Array[];
}

/**
 * Returns the proof of a receipt. Only the receipt's holder knows its hash. Errors: InvalidRequest where
 * there is no such record, Unavailable where no checkpoint covers it yet.
 */
export const getAuditProof =
  (audit: AuditReader) =>
  async ({ chainId, sequence, hash }: AuditReceipt): Promise<AuditProof> => {
    const text = await audit.recordText(chainId, sequence);
    if (text === undefined || sha256(text) !== hash) throw invalidField("/receipt", "no such record");
    const covering = await audit.covering(chainId, sequence);
    if (!covering) throw new AppError("Unavailable", { retryAfterSeconds: 1, detail: "no checkpoint covers it yet" });
    const path = await inclusionPath(audit.tree(chainId), Number(sequence) - 1, covering.size);
    return { text, previousHash: previousHashOf(text), checkpoint: covering.checkpoint, path };
  };
