import {
  type Administrator,
  type AdminRecord,
  AppError,
  DAY_MS,
  invalidField,
  requireMayDecide,
} from "@countersign/core";
import { type ArchiveStatement, archiveText, readArchive } from "../../audit/archive.ts";
import { signText } from "../../audit/audit-key.ts";
import type { AuditReport } from "../../audit/verify-file.ts";
import type { ArchiveFile, ArchiveOptions, Removal } from "./archive-audit.ts";

export interface RemovalOptions extends ArchiveOptions {
  readonly actions: AdminRecord;
  /** Whether another person must approve a removal. */
  readonly twoPersons: boolean;
}

/** The command's name in the record. */
export const REMOVE_COMMAND = "audit remove";

/** A person's decision about a request. */
export interface RemovalDecision {
  readonly requestId: string;
  readonly approve: boolean;
  /** Of the file that the person has read; a rejection need not name it. */
  readonly sha256: string;
}

const isOf = (file: ArchiveFile, archive: ArchiveStatement | undefined): boolean =>
  archive?.sequence === file.sequence && archive.sha256 === file.sha256;

async function readLast({ archives, auditSigner }: ArchiveOptions): Promise<ArchiveStatement | undefined> {
  const signed = await archives.last();
  return signed && readArchive(signed, auditSigner.keys);
}

/**
 * Returns the id of a request that another person must approve; undefined where one person may go on: no
 * second one is needed, or the removal was approved and only rows are left to delete.
 */
export async function requestRemoval(
  options: RemovalOptions,
  by: Administrator,
  file: ArchiveFile,
): Promise<string | undefined> {
  if (!options.twoPersons || isOf(file, await readLast(options))) return undefined;
  return options.actions.request(by, { command: REMOVE_COMMAND, arguments: { ...file } });
}

/**
 * Returns the removal that a person approves; the id of the record where the person rejects it.
 * Errors: AdminRequestNotFound, also where an approval names another file; SecondPersonRequired.
 */
export async function decideRemoval(
  { actions, clock }: RemovalOptions,
  { person, reason }: Administrator,
  { requestId, approve, sha256 }: RemovalDecision,
): Promise<Removal | string> {
  const request = await actions.findRequest(requestId);
  const isNamed = request?.command === REMOVE_COMMAND && request.arguments.sha256 === sha256;
  requireMayDecide(request, { person, approve, isNamed, now: clock.now() });
  if (!approve) return actions.reject({ person, reason }, request);
  return { file: { sequence: Number(request.arguments.sequence), sha256 }, request };
}

/** Verifies the part once more, and records that the log begins behind it. Yields 0 while it verifies. */
async function* recordArchive(
  options: RemovalOptions,
  by: Administrator,
  removal: Removal,
  after: number,
  verify: () => AsyncIterable<AuditReport | undefined>,
): AsyncGenerator<number, ArchiveStatement> {
  const { archives, auditSigner, archiveMinDays, clock, twoPersons } = options;
  const { file, request } = removal;
  // Also where the statement that one person was to continue is not the last one any more.
  if (twoPersons && !request) throw new AppError("SecondPersonRequired");
  if (file.sequence <= after) throw invalidField("/sequence", `all up to checkpoint ${after} was taken out before`);
  const oldest = new Date(clock.now().getTime() - archiveMinDays * DAY_MS);
  if (file.sequence > ((await archives.lastBefore(oldest)) ?? 0))
    throw invalidField("/sequence", "is a checkpoint that is too young, or not one with which an archive ends");
  let report: AuditReport | undefined;
  for await (const each of verify()) {
    yield 0;
    report = each;
  }
  if (!report?.end || report.problems.length > 0)
    throw invalidField("/sequence", `the log up to it is not whole: ${report?.problems[0] ?? "it has no end"}`);
  if (report.sha256 !== file.sha256)
    throw invalidField("/sha256", "the file is not what the database has up to this checkpoint");
  // As the audit key signed it: the database may say another time.
  if (report.end.time > oldest) throw invalidField("/sequence", "is a checkpoint that is too young");
  const archive = {
    ...{ ...report.end, after, sha256: file.sha256, keyVersion: auditSigner.version(), removedAt: clock.now() },
    ...{ by: (request ?? by).person, approvedBy: request ? by.person : "", reason: (request ?? by).reason },
  };
  const signed = await signText(auditSigner, archiveText(archive));
  if (!(await archives.record(after, signed, by, removal)))
    throw invalidField("/sequence", "another archive was taken out meanwhile");
  return archive;
}

/**
 * Takes a part of the log out of the database, which `verify` reads and verifies once more: the file must be
 * what the database has. First the statement is recorded; the log begins behind it from then on, and rows are
 * only deleted. Yields the number of rows. Without a request it continues a deletion that was interrupted.
 * Errors: InvalidRequest where the file is another one, the part is too young, or the log is not whole;
 * AdminRequestNotFound where the request was decided meanwhile; SecondPersonRequired without a request where
 * there is nothing to continue.
 */
export async function* removeArchived(
  options: RemovalOptions,
  by: Administrator,
  removal: Removal,
  verify: () => AsyncIterable<AuditReport | undefined>,
  pause: (ms: number) => Promise<unknown>,
): AsyncGenerator<number> {
  const { file, request } = removal;
  let archive = await readLast(options);
  // An approval acts once: it does not continue what another one began.
  if (archive && isOf(file, archive) && !request)
    await options.actions.begin(by, { command: REMOVE_COMMAND, arguments: { ...file } });
  else archive = yield* recordArchive(options, by, removal, archive?.sequence ?? 0, verify);
  yield* options.archives.remove(archive, pause);
}
