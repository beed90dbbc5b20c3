import { z } from "zod";
import { type AuditPublicKeys, type SignedText, verifyAuditSignature } from "./audit-key.ts";
import { type ChainEnd, count, hex32 } from "./checkpoint.ts";
import { isTree, splitHashes, type Tree } from "./tree.ts";

/** A chain that goes on, with the tree over its records so far. */
export interface OpenHead extends ChainEnd {
  readonly tree: Tree;
}

/** Where a part of the log ends: all that is behind it continues this. */
export interface LogEnd {
  /** The last checkpoint, its hash and its time. */
  readonly sequence: number;
  readonly hash: string;
  readonly time: Date;
  /** The chains that this checkpoint leaves open, in the order of their ids. */
  readonly heads: readonly OpenHead[];
}

/** The statement that a part of the log is in a file and no longer in the database. */
export interface ArchiveStatement extends LogEnd {
  /** The checkpoint that the part continues; 0 before the first. */
  readonly after: number;
  /** The file's SHA-256, hex. */
  readonly sha256: string;
  /** The audit key's. */
  readonly keyVersion: number;
  readonly removedAt: Date;
  /** The person who asked for the removal, and why. */
  readonly by: string;
  /** The other person who approved it; empty where the signer needs none. */
  readonly approvedBy: string;
  readonly reason: string;
}

const FORMAT = "countersign-audit-archive-1";

const listEnd = ({ sequence, hash, time, heads }: LogEnd) => [
  sequence,
  hash,
  time.toISOString(),
  heads.map((head) => [head.chainId, head.size, head.hash, Buffer.concat(head.tree.frontier).toString("hex")]),
];

export const isSameEnd = (a: LogEnd, b: LogEnd): boolean => JSON.stringify(listEnd(a)) === JSON.stringify(listEnd(b));

/**
 * Returns the text that the audit key signs: a JSON array of format, the checkpoint before, the last
 * checkpoint, its hash and time (ISO 8601), the open chains (each an array of id, size, last record's hash
 * and the roots of the perfect subtrees, the largest first, in hex), the file's SHA-256, the key's version,
 * the time of the removal, the person who asked, the one who approved, and the reason.
 */
export const archiveText = (archive: ArchiveStatement): string => {
  const { after, sha256, keyVersion, removedAt, by, approvedBy, reason } = archive;
  const removal = [sha256, keyVersion, removedAt.toISOString(), by, approvedBy, reason];
  return JSON.stringify([FORMAT, after, ...listEnd(archive), ...removal]);
};

/** Returns a line for people about a part that is not in the database. */
export const archivedLine = ({ sequence, time, sha256, removedAt, by, approvedBy, reason }: ArchiveStatement): string =>
  `all up to checkpoint ${sequence} of ${time.toISOString()}, in the archive with SHA-256 ${sha256}: ` +
  `taken out of the database at ${removedAt.toISOString()} by ${by}` +
  `${approvedBy && `, approved by ${approvedBy}`}: ${reason}`;

const end = [count, hex32, z.iso.datetime()] as const;
const heads = z.array(z.tuple([z.uuid(), count, hex32, z.string().regex(/^([0-9a-f]{64})+$/)]));
const removal = [hex32, count, z.iso.datetime(), z.string(), z.string(), z.string()] as const;
const shape = z.tuple([z.literal(FORMAT), z.int().nonnegative(), ...end, heads, ...removal]);

/** Reads a statement; undefined where the audit key has not signed it. */
export function readArchive(signed: SignedText, keys: AuditPublicKeys): ArchiveStatement | undefined {
  const archive = parseArchive(signed.text);
  return archive && verifyAuditSignature(signed, archive.keyVersion, keys) ? archive : undefined;
}

/** Reads a statement's text; undefined where it is none. */
export function parseArchive(text: string): ArchiveStatement | undefined {
  try {
    const [, after, sequence, hash, time, list, sha256, keyVersion, removedAt, by, approvedBy, reason] = shape.parse(
      JSON.parse(text),
    );
    const open = list.map(([chainId, size, last, frontier]) => ({
      ...{ chainId, size, hash: last },
      tree: { size, frontier: splitHashes(Buffer.from(frontier, "hex")) },
    }));
    const archive = {
      ...{ after, sequence, hash, time: new Date(time), heads: open, sha256 },
      ...{ keyVersion, removedAt: new Date(removedAt), by, approvedBy, reason },
    };
    return open.every(({ tree, size }) => isTree(tree, size)) && archiveText(archive) === text ? archive : undefined;
  } catch {
    return undefined;
  }
}
