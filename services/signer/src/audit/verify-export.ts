import { isSameEnd } from "./archive.ts";
import { type AuditReport, type Before, NOTHING, type VerifyOptions, verifyFile } from "./verify-file.ts";

/**
 * Checks archives in their order, and the export behind them (`countersign audit archive`, `audit export`),
 * or some of these, against checkpoints: a record changed, removed, moved, or added, records that no process
 * of the signer has signed, times that do not fit, a tail, a chain or a file that is missing, checkpoints
 * that contradict each other. Reads each file once, in memory of its checkpoints' size.
 */
export async function verifyExports(
  files: Iterable<AsyncIterable<Uint8Array>>,
  options: VerifyOptions,
): Promise<AuditReport> {
  const before: Before = { closed: new Set(), chains: new Set() };
  const found: [file: number, problem: string][] = [];
  let [report, count]: [AuditReport | undefined, number] = [undefined, 0];
  for (const file of files) {
    count += 1;
    const next: AuditReport = await verifyFile(file, options, before);
    const link = report && linkProblem(report, next);
    for (const problem of link ? [link, ...next.problems] : next.problems) found.push([count, problem]);
    report = report
      ? {
          ...next,
          records: report.records + next.records,
          chains: before.chains.size,
          checkpoints: report.checkpoints + next.checkpoints,
          until: next.until ?? report.until,
          losses: [...report.losses, ...next.losses],
          begins: report.begins,
        }
      : next;
  }
  const problems = found.map(([file, problem]) => (count > 1 ? `file ${file}: ${problem}` : problem));
  return { ...(report ?? { ...NOTHING, sha256: "" }), problems };
}

/** Checks one export: see verifyExports. */
export const verifyExport = (chunks: AsyncIterable<Uint8Array>, options: VerifyOptions): Promise<AuditReport> =>
  verifyExports([chunks], options);

/** Returns what is wrong between two files; "" where the second continues the first. */
function linkProblem(previous: AuditReport, { begins }: AuditReport): string {
  const { end, sha256 } = previous;
  if (!end) return "the file before is no archive that another file continues";
  if (!begins) return "it begins with the first record, and not behind the archive before";
  if (begins.sequence > end.sequence)
    return `the archive of checkpoints ${end.sequence + 1} to ${begins.sequence} is missing`;
  if (begins.sequence < end.sequence)
    return `it begins behind checkpoint ${begins.sequence}, which the file before is already behind`;
  if (begins.sha256 !== sha256) return "the archive before is not the file that was taken out of the database";
  return isSameEnd(begins, end) ? "" : "it continues another log than that of the archive before";
}
