import { type Administrator, type AdminRequest, type Clock, DAY_MS, invalidField } from "@countersign/core";
import type { ArchiveStatement } from "../../audit/archive.ts";
import type { AuditSigner, SignedText } from "../../audit/audit-key.ts";

/** The parts of the audit log that were taken out of the database. */
export interface AuditArchives {
  /** The statement about the last one. */
  last(): Promise<SignedText | undefined>;
  /** Returns the last checkpoint before a time with which the next part may end; undefined where none is. */
  lastBefore(time: Date): Promise<number | undefined>;
  /**
   * Records that the log begins behind a part, in one commit with the command. False, and nothing recorded,
   * where another part continues checkpoint `after`. Errors: AdminRequestNotFound where the request that the
   * command approves was decided.
   */
  record(after: number, signed: SignedText, by: Administrator, removal: Removal): Promise<boolean>;
  /**
   * Deletes the rows of this part and those before, some at a time, and yields how many. Continues where an
   * earlier deletion ended; several may run at once.
   */
  remove(archive: ArchiveStatement, pause: (ms: number) => Promise<unknown>): AsyncIterable<number>;
}

export interface ArchiveOptions {
  readonly archives: AuditArchives;
  readonly auditSigner: AuditSigner;
  /** Nothing younger leaves the database. */
  readonly archiveMinDays: number;
  readonly clock: Clock;
}

/** An archive as the file is that an administrator has. */
export interface ArchiveFile {
  readonly sequence: number;
  readonly sha256: string;
}

/** The removal of a file, with the request for it if another person approves it. */
export interface Removal {
  readonly file: ArchiveFile;
  readonly request?: AdminRequest | undefined;
}

/** Returns the checkpoint with which an archive of all before a time ends. Errors: InvalidRequest. */
export async function endBefore(options: ArchiveOptions, before: Date): Promise<number> {
  const { archives, archiveMinDays, clock } = options;
  if (before.getTime() > clock.now().getTime() - archiveMinDays * DAY_MS)
    throw invalidField("/before", `is less than ${archiveMinDays} days ago (SIGNER_AUDIT_ARCHIVE_MIN_DAYS)`);
  const end = await archives.lastBefore(before);
  if (end === undefined) throw invalidField("/before", "the database has nothing older that an archive can have");
  return end;
}
