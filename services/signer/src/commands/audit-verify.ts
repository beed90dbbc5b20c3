import { createReadStream } from "node:fs";
import { command, linesOf, STATED_LOSSES, UsageError } from "@countersign/runtime";
import { archivedLine } from "../audit/archive.ts";
import type { SignedCheckpoint } from "../audit/checkpoint.ts";
import { parseSignedLine } from "../audit/checkpoint-file.ts";
import type { CheckpointPlace } from "../audit/verify-checkpoints.ts";
import { verifyExports } from "../audit/verify-export.ts";
import { readAuditKeys } from "./audit-keys.ts";

const READ_CHUNK_BYTES = 4 * 1024 * 1024;
const MAX_SHOWN_PROBLEMS = 100;
/** The exit code where the files are whole and are not the whole log. */
const ONLY_A_PART = 4;

/** Returns a file of a signer's checkpoints, read each time. A line that is none is an unreadable one. */
export function readCheckpoints(path: string): CheckpointPlace {
  function* read(): Generator<SignedCheckpoint> {
    // A crash leaves a part of a line behind the last line end.
    for (const line of linesOf(path, true)) yield parseSignedLine(line) ?? { text: "", signature: "" };
  }
  return { name: path, checkpoints: { [Symbol.iterator]: read } };
}

/**
 * `signer audit verify`: needs files only. Exits with 0 where everything is as it was signed, with 3 where
 * records are missing and operators' signed statements say why, with 4 where archives before or files behind
 * were not given, else with 1 and the problems.
 */
export const auditVerify = command({
  usage: "audit verify --export <file>… --public-key <file of keys export-public> [--checkpoints <file>]…",
  about:
    "Checks archives in their order, and the export behind them, without the database. Exit code 1 and the problems where they are not whole, 3 where only stated losses are missing, 4 where archives before or files behind were not given.",
  options: {
    export: { type: "string", multiple: true, default: [] },
    "public-key": { type: "string" },
    checkpoints: { type: "string", multiple: true, default: [] },
  },
  async run({ values, print }) {
    if (values.export.length === 0 || !values["public-key"]) throw new UsageError(this.usage);
    const elsewhere = values.checkpoints.map(readCheckpoints);
    const keys = readAuditKeys(values["public-key"]);
    // Each is opened when the one before was read.
    const files = (function* () {
      for (const path of values.export) yield createReadStream(path, { highWaterMark: READ_CHUNK_BYTES });
    })();
    const report = await verifyExports(files, { elsewhere, keys });
    const { problems, records, chains, checkpoints, uncovered, until, losses, begins, end } = report;
    for (const problem of problems.slice(0, MAX_SHOWN_PROBLEMS)) print(`WRONG  ${problem}`);
    if (problems.length > MAX_SHOWN_PROBLEMS) print(`WRONG  and ${problems.length - MAX_SHOWN_PROBLEMS} more`);
    print(
      `records: ${records}, chains: ${chains}, checkpoints: ${checkpoints}${until ? `, until ${until.toISOString()}` : ""}`,
    );
    if (uncovered > 0) print(`${uncovered} records at the end are under no checkpoint yet`);
    if (elsewhere.every(({ checkpoints: [some] }) => !some))
      print("compared with the export's own checkpoints only: give --checkpoints to see that none was taken away");
    for (const { chainId, first, last, statement } of losses.slice(0, MAX_SHOWN_PROBLEMS)) {
      const { sequence, time, by, reason } = statement;
      print(`LOST  records ${first} to ${last} of chain ${chainId}: checkpoint ${sequence} states at`);
      print(`      ${time.toISOString()} that the database was restored, by ${by}: ${reason}`);
    }
    if (losses.length > MAX_SHOWN_PROBLEMS) print(`LOST  and of ${losses.length - MAX_SHOWN_PROBLEMS} more chains`);
    if (begins) print(`NOT GIVEN  ${archivedLine(begins)}`);
    if (end)
      print(
        `NOT GIVEN  all behind checkpoint ${end.sequence} of ${end.time.toISOString()}, with which an archive ends`,
      );
    const isPart = begins !== undefined || end !== undefined;
    const whole = isPart ? "whole as a part of the log" : "whole";
    if (problems.length > 0) print("NOT WHOLE");
    else print(losses.length > 0 ? `${whole}, except for losses that an operator stated` : whole);
    if (problems.length > 0) return 1;
    if (isPart) return ONLY_A_PART;
    return losses.length > 0 ? STATED_LOSSES : 0;
  },
});
