import { type AuditRecord, genesisHash, recordText, sha256 } from "../audit/record.ts";

/**
 * Checks a whole chain against its head. Returns "", or what is wrong: a record that was changed, removed or
 * moved, or a missing tail.
 */
export function verifyChain(
  records: readonly AuditRecord[],
  head: { chainId: string; sequence: bigint; hash: string },
): string {
  let previousHash = genesisHash(head.chainId);
  let sequence = 0n;
  for (const record of records) {
    sequence += 1n;
    if (record.chainId !== head.chainId || record.sequence !== sequence)
      return `record ${sequence} is missing or moved`;
    if (record.previousHash !== previousHash) return `record ${sequence} does not follow the one before`;
    if (sha256(recordText(record)) !== record.hash) return `record ${sequence} was changed`;
    previousHash = record.hash;
  }
  return sequence === head.sequence && previousHash === head.hash ? "" : "the tail is missing";
}
