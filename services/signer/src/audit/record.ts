import { hash } from "node:crypto";
import type { Operation } from "../policy/policy.ts";

/** A decision, before it has its place in a chain. */
export interface AuditEntry {
  readonly time: Date;
  /** The name in the caller's certificate. */
  readonly caller: string;
  /** For a creation: empty. */
  readonly accountId: string;
  readonly sessionId: string;
  readonly operation: Operation;
  readonly chainName: string;
  /** SHA-256 of the message, hex. */
  readonly messageHash: string;
  /** SHA-256 of the script, hex; empty where the message has none or could not be decoded. */
  readonly scriptHash: string;
  /** "signed", or the reason of the refusal. */
  readonly verdict: string;
  readonly policyVersion: string;
  readonly keyVersion: number;
  /** Not in the text: the UUID whose limit of signatures per minute it counts towards; "": none. */
  readonly limitId: string;
}

/** A decision in its place. */
export interface AuditRecord extends AuditEntry {
  readonly chainId: string;
  /** From 1. */
  readonly sequence: bigint;
  readonly previousHash: string;
  /** See recordText. */
  readonly text: string;
  /** SHA-256 of the text, hex. */
  readonly hash: string;
}

export const sha256 = (data: string | Uint8Array): string => hash("sha256", data);

/** Returns the previous hash of the first record of a chain. */
export const genesisHash = (chainId: string): string => sha256(chainId);

/**
 * Returns the canonical text of a record: a JSON array of format, chain id, sequence (decimal text), time
 * (ISO 8601, milliseconds), caller, account, session, operation, chain name, message hash, script hash,
 * verdict, policy version, key version and previous hash. Its SHA-256 is the record's hash.
 */
export const recordText = (record: Omit<AuditRecord, "text" | "hash">): string =>
  JSON.stringify([
    "countersign-audit-1",
    record.chainId,
    String(record.sequence),
    record.time.toISOString(),
    record.caller,
    record.accountId,
    record.sessionId,
    record.operation,
    record.chainName,
    record.messageHash,
    record.scriptHash,
    record.verdict,
    record.policyVersion,
    record.keyVersion,
    record.previousHash,
  ]);

/** Returns the hash of the record before, by a record's text. */
export const previousHashOf = (text: string): string => JSON.parse(text).at(-1);

/** Puts entries behind the head of a chain. */
export function chainRecords(
  head: { chainId: string; sequence: bigint; hash: string },
  entries: readonly AuditEntry[],
): AuditRecord[] {
  let { sequence, hash: previousHash } = head;
  return entries.map((entry) => {
    sequence += 1n;
    const record = { ...entry, chainId: head.chainId, sequence, previousHash };
    const text = recordText(record);
    const hash = sha256(text);
    previousHash = hash;
    return { ...record, text, hash };
  });
}
