import { type Administrator, type Clock, invalidField } from "@countersign/core";
import { type ArchiveStatement, archiveText, readArchive } from "../../audit/archive.ts";
import type { SignedText } from "../../audit/audit-key.ts";
import type { CheckpointSigner } from "../../audit/checkpointer.ts";
import type { AuditReport } from "../../audit/verify-export.ts";

/** The parts of the audit log that were taken out of the database. */
export interface AuditArchives {
  /** The statement about the last one. */
  last(): Promise<SignedText | undefined>;
  /** Returns the last checkpoint before a time with which the next part may end; undefined where none is. */
  lastBefore(time: Date): Promise<number | undefined>;
  /** Records that the log begins behind a part. False where another part continues checkpoint `after`. */
  record(after: number, signed: SignedText): Promise<boolean>;
  /**
   * Deletes the rows of this part and those before, some at a time, and yields how many. Continues where an
   * earlier deletion ended; several may run at once.
   */
  remove(archive: ArchiveStatement, pause: (ms: number) => Promise<unknown>): AsyncIterable<number>;
}

export interface ArchiveOptions {
  readonly archives: AuditArchives;
  readonly auditSigner: CheckpointSigner;
  /** Nothing younger leaves the database. */
  readonly archiveMinDays: number;
  readonly clock: Clock;
}

/** An archive as the file is that an administrator has. */
export interface ArchiveFile {
  readonly sequence: number;
  readonly sha256: string;
}

const DAY_MS = 86_400_000;

/** Returns the checkpoint with which an archive of all before a time ends. Errors: InvalidRequest. */
export async function endBefore(options: ArchiveOptions, before: Date): Promise<number> {
  const { archives, archiveMinDays, clock } = options;
  if (before.getTime() > clock.now().getTime() - archiveMinDays * DAY_MS)
    throw invalidField("/before", `is less than ${archiveMinDays} days ago (SIGNER_AUDIT_ARCHIVE_MIN_DAYS)`);
  const end = await archives.lastBefore(before);
  if (end === undefined) throw invalidField("/before", "the database has nothing older that an archive can have");
  return end;
}

/** Verifies the part once more, and records that the log begins behind it. Yields while it verifies. */
async function* recordArchive(
  options: ArchiveOptions,
  { person, reason }: Administrator,
  file: ArchiveFile,
  after: number,
  verify: () => AsyncIterable<AuditReport | undefined>,
): AsyncGenerator<undefined> {
  const { archives, auditSigner, archiveMinDays, clock } = options;
  if (file.sequence <= after)
    throw invalidField("/sequence", `another archive was taken out, up to checkpoint ${after}`);
  const oldest = new Date(clock.now().getTime() - archiveMinDays * DAY_MS);
  if (file.sequence > (await endBefore(options, oldest)))
    throw invalidField("/sequence", "is a checkpoint that is too young, or not one with which an archive ends");
  let report: AuditReport | undefined;
  for await (const each of verify()) {
    yield;
    report = each;
  }
  if (!report?.end || report.problems.length > 0)
    throw invalidField("/sequence", `the log up to it is not whole: ${report?.problems[0] ?? "it has no end"}`);
  if (report.sha256 !== file.sha256)
    throw invalidField("/sha256", "the file is not what the database has up to this checkpoint");
  // As the audit key signed it: the database may say another time.
  if (report.end.time > oldest) throw invalidField("/sequence", "is a checkpoint that is too young");
  const stated = { sha256: file.sha256, keyVersion: auditSigner.version(), removedAt: clock.now(), by: person, reason };
  const text = archiveText({ ...report.end, after, ...stated });
  const signature = Buffer.from(await auditSigner.sign(Buffer.from(text))).toString("hex");
  if (!(await archives.record(after, { text, signature })))
    throw invalidField("/sequence", "another archive was taken out meanwhile");
}

/**
 * Takes a part of the log out of the database, which `verify` reads and verifies once more: the file must be
 * what the database has. First the statement is recorded; the log begins behind it from then on, and rows are
 * only deleted. Yields the number of rows. The same call continues a deletion that was interrupted, or that
 * another administrator has begun.
 * Errors: InvalidRequest where the file is another one, the part is too young, or the log is not whole.
 */
export async function* removeArchived(
  options: ArchiveOptions,
  by: Administrator,
  file: ArchiveFile,
  verify: () => AsyncIterable<AuditReport | undefined>,
  pause: (ms: number) => Promise<unknown>,
): AsyncGenerator<number> {
  const { archives, auditSigner } = options;
  const read = async () => {
    const signed = await archives.last();
    return signed && readArchive(signed, auditSigner.keys);
  };
  const isFile = (archive: ArchiveStatement | undefined): archive is ArchiveStatement =>
    archive?.sequence === file.sequence && archive.sha256 === file.sha256;
  let archive = await read();
  const after = archive?.sequence ?? 0;
  if (!isFile(archive)) {
    try {
      for await (const _ of recordArchive(options, by, file, after, verify)) yield 0;
    } catch (error) {
      // Of two at once one records it, and the other one reads a log that begins elsewhere meanwhile.
      if (!isFile(await read())) throw error;
    }
    archive = await read();
    if (!isFile(archive)) throw invalidField("/sequence", "another archive was taken out meanwhile");
  }
  yield* archives.remove(archive, pause);
}
