import { AppError } from "@countersign/core";
import type { AuditReceipt } from "../audit/audit-log.ts";
import type { SignedCheckpoint } from "../audit/checkpoint.ts";
import { previousHashOf, sha256 } from "../audit/record.ts";
import { inclusionPath, type TreeSource } from "../audit/tree.ts";

/** What is read for a proof. */
export interface AuditReader {
  /** The text of a record. */
  recordText(chainId: string, sequence: bigint): Promise<string | undefined>;
  /** The first checkpoint that covers a chain up to that record at least, and how much of the chain it covers. */
  covering(chainId: string, sequence: bigint): Promise<{ checkpoint: SignedCheckpoint; size: number } | undefined>;
  tree(chainId: string): TreeSource;
}

/** A record with its place: SHA-256 of `text` is the receipt's hash, and `path` leads from it to the chain's root in the checkpoint. */
export interface AuditProof {
  readonly text: string;
  /** Hex. */
  readonly previousHash: string;
  readonly checkpoint: SignedCheckpoint;
  readonly path: readonly Uint8Array[];
}

/**
 * The proof of a receipt; only who holds the receipt knows its hash. Errors: InvalidRequest where there is no such record, Unavailable where no checkpoint
 * covers it yet.
 */
export const getAuditProof =
  ({ audit }: { audit: AuditReader }) =>
  async ({ chainId, sequence, hash }: AuditReceipt): Promise<AuditProof> => {
    const text = await audit.recordText(chainId, sequence);
    if (text === undefined || sha256(text) !== hash) {
      throw new AppError("InvalidRequest", { fields: [{ pointer: "/receipt", detail: "no such record" }] });
    }
    const covering = await audit.covering(chainId, sequence);
    if (!covering) throw new AppError("Unavailable", { retryAfterSeconds: 1, detail: "no checkpoint covers it yet" });
    const path = await inclusionPath(audit.tree(chainId), Number(sequence) - 1, covering.size);
    return { text, previousHash: previousHashOf(text), checkpoint: covering.checkpoint, path };
  };
