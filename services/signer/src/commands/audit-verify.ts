import { createReadStream, readFileSync } from "node:fs";
import { command, UsageError } from "@countersign/runtime";
import type { SignedCheckpoint } from "../audit/checkpoint.ts";
import { parseSignedLine } from "../audit/checkpoint-file.ts";
import { verifyExport } from "../audit/verify-export.ts";
import { readAuditKeys } from "./audit-keys.ts";

const READ_CHUNK_BYTES = 4 * 1024 * 1024;
const MAX_SHOWN_PROBLEMS = 100;
/** The exit code where records are missing, and signed statements say why. */
const STATED_LOSSES = 3;

/** Reads a file of a signer's checkpoints. A line that is none counts as an unreadable checkpoint. */
export function readCheckpoints(path: string): { name: string; checkpoints: SignedCheckpoint[] } {
  const lines = readFileSync(path, "utf8").split("\n");
  // A crash leaves a part of a line behind the last line end.
  lines.pop();
  return { name: path, checkpoints: lines.map((line) => parseSignedLine(line) ?? { text: "", signature: "" }) };
}

/**
 * `signer audit verify`: needs files only. Exits with 0 where everything is as it was signed, with 3 where
 * records are missing and operators' signed statements say why, else with 1 and the problems.
 */
export const auditVerify = command({
  usage: "audit verify --export <file> --public-key <file of keys export-public> [--checkpoints <file>]…",
  about:
    "Checks an export without the database. Exit code 1 and the problems where it is not whole, 3 where only stated losses are missing.",
  options: {
    export: { type: "string" },
    "public-key": { type: "string" },
    checkpoints: { type: "string", multiple: true, default: [] },
  },
  async run({ values, print }) {
    if (!values.export || !values["public-key"]) throw new UsageError(this.usage);
    const elsewhere = values.checkpoints.map(readCheckpoints);
    const keys = readAuditKeys(values["public-key"]);
    const report = await verifyExport(createReadStream(values.export, { highWaterMark: READ_CHUNK_BYTES }), {
      elsewhere,
      keys,
    });
    const { problems, records, chains, checkpoints, uncovered, until, losses } = report;
    for (const problem of problems.slice(0, MAX_SHOWN_PROBLEMS)) print(`WRONG  ${problem}`);
    if (problems.length > MAX_SHOWN_PROBLEMS) print(`WRONG  and ${problems.length - MAX_SHOWN_PROBLEMS} more`);
    print(
      `${records} records in ${chains} chains under ${checkpoints} checkpoints${until ? ` until ${until.toISOString()}` : ""}`,
    );
    if (uncovered > 0) print(`${uncovered} records at the end are under no checkpoint yet`);
    if (elsewhere.length === 0)
      print("compared with the export's own checkpoints only: give --checkpoints to see that none was taken away");
    for (const { chainId, first, last, statement } of losses.slice(0, MAX_SHOWN_PROBLEMS)) {
      const { sequence, time, by, reason } = statement;
      print(`LOST  records ${first} to ${last} of chain ${chainId}: checkpoint ${sequence} states at`);
      print(`      ${time.toISOString()} that the database was restored, by ${by}: ${reason}`);
    }
    if (losses.length > MAX_SHOWN_PROBLEMS) print(`LOST  and of ${losses.length - MAX_SHOWN_PROBLEMS} more chains`);
    if (problems.length > 0) print("NOT WHOLE");
    else print(losses.length > 0 ? "whole, except for losses that an operator stated" : "whole");
    if (problems.length > 0) return 1;
    return losses.length > 0 ? STATED_LOSSES : 0;
  },
});
