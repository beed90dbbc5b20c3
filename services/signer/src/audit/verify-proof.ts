import { type AuditPublicKeys, verifyAuditSignature } from "./audit-key.ts";
import { parseCheckpoint } from "./checkpoint.ts";
import { sha256 } from "./record.ts";
import { verifyInclusion } from "./tree.ts";
import { RECORD_TIME_TOLERANCE_MS } from "./verify-checkpoints.ts";

/** signer.v1.GetAuditProofResponse as text and hex. */
export interface ProofToVerify {
  readonly record: string;
  readonly checkpoint: string;
  /** Hex. */
  readonly checkpointSignature: string;
  readonly path: readonly Uint8Array[];
}

/** The facts about a signature that a valid proof shows. */
export interface ProvenRecord {
  readonly chainId: string;
  readonly sequence: number;
  readonly time: string;
  readonly messageHash: string;
  readonly verdict: string;
  readonly checkpoint: number;
  readonly checkpointTime: string;
}

const UNREADABLE = "the record is not readable";

/**
 * Checks a proof with nothing but the audit key's public halves. Returns what it proves, or what is wrong
 * with it.
 */
export function verifyProof(proof: ProofToVerify, keys: AuditPublicKeys): ProvenRecord | string {
  let fields: unknown;
  try {
    fields = JSON.parse(proof.record);
  } catch {
    return UNREADABLE;
  }
  if (!Array.isArray(fields) || fields[0] !== "countersign-audit-1") return UNREADABLE;
  const [, chainId, sequenceText, time, , , , , , messageHash, , verdict] = fields.map(String) as string[];
  const sequence = Number(sequenceText);
  const checkpoint = parseCheckpoint(proof.checkpoint);
  if (!checkpoint) return "the checkpoint is not readable";
  const signed = { text: proof.checkpoint, signature: proof.checkpointSignature };
  if (!verifyAuditSignature(signed, checkpoint.keyVersion, keys)) return "the audit key has not signed the checkpoint";
  const head = checkpoint.heads.find((each) => each.chainId === chainId);
  if (!head) return "the checkpoint does not name the record's chain";
  const recordHash = Buffer.from(sha256(proof.record), "hex");
  if (!verifyInclusion(recordHash, sequence - 1, head.size, proof.path, Buffer.from(head.root, "hex")))
    return "the path does not lead from the record to the checkpoint";
  // Not later, also where the time is none.
  if (!(Date.parse(time!) <= checkpoint.time.getTime() + RECORD_TIME_TOLERANCE_MS))
    return "the record's time is later than the checkpoint's";
  return {
    chainId: head.chainId,
    sequence,
    time: time!,
    messageHash: messageHash!,
    verdict: verdict!,
    checkpoint: checkpoint.sequence,
    checkpointTime: checkpoint.time.toISOString(),
  };
}
