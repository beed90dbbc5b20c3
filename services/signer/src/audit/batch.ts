import { hash } from "node:crypto";
import { type PublicKey, parsePublicKey } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { z } from "zod";
import { type AuditPublicKeys, type SignedText, verifyAuditSignature } from "./audit-key.ts";

// An attacker in the database can compute hashes, but not these signatures: each process has a key of its own
// for its batches of records, certified by the audit key when the process starts.

/** The statement that the audit key certifies: a process of the signer and the key of its batches. */
export interface WriterCertificate {
  readonly writerId: string;
  readonly startedAt: Date;
  /** The audit key's. */
  readonly keyVersion: number;
  readonly publicKey: PublicKey;
}

const CERTIFICATE_FORMAT = "countersign-audit-writer-1";
const BATCH_FORMAT = "countersign-audit-batch-1";

/**
 * Returns a JSON array of format, writer id, start (ISO 8601), the audit key's version, and the writer's
 * public key (x||y in hex).
 */
export const certificateText = ({ writerId, startedAt, keyVersion, publicKey }: WriterCertificate): string =>
  JSON.stringify([CERTIFICATE_FORMAT, writerId, startedAt.toISOString(), keyVersion, publicKey.publicKey]);

const shape = z.tuple([
  z.literal(CERTIFICATE_FORMAT),
  z.uuid(),
  z.iso.datetime(),
  z.int().positive(),
  z.string().regex(/^[0-9a-f]{128}$/),
]);

/** Reads a certificate; undefined where the audit key has not signed it. */
export function readCertificate(signed: SignedText, keys: AuditPublicKeys): WriterCertificate | undefined {
  try {
    const [, writerId, startedAt, keyVersion, publicKey] = shape.parse(JSON.parse(signed.text));
    if (!verifyAuditSignature(signed, keyVersion, keys)) return undefined;
    return { writerId, startedAt: new Date(startedAt), keyVersion, publicKey: parsePublicKey(publicKey, "ES256") };
  } catch {
    return undefined;
  }
}

/** The place of a batch and its records. */
export interface BatchPlace {
  readonly chainId: string;
  /** Of its first and last record. */
  readonly first: number | bigint;
  readonly last: number | bigint;
  /** The hash of the record before the first. */
  readonly previousHash: string;
}

/**
 * Returns the text that a writer signs for records that commit together: a JSON array of format, chain id,
 * first and last sequence (decimal text), the hash of the record before, and the SHA-256 over the records'
 * hashes, 32 bytes each, hex.
 */
export const batchText = ({ chainId, first, last, previousHash }: BatchPlace, recordHashes: Uint8Array): Buffer =>
  Buffer.from(
    JSON.stringify([BATCH_FORMAT, chainId, String(first), String(last), previousHash, hash("sha256", recordHashes)]),
  );

/** Returns whether the writer has signed these records, by their hashes, for this place. */
export const verifyBatch = (
  writer: WriterCertificate,
  place: BatchPlace,
  recordHashes: Uint8Array,
  signature: Uint8Array,
): boolean => verifySignature(writer.publicKey, batchText(place, recordHashes), signature, "sha256");
