import { join } from "node:path";
import { Failure, reportFailure } from "@countersign/build/fail.ts";
import { services } from "@countersign/build/paths.ts";
import { createDatabases } from "@countersign/local-stack/databases.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { startPostgres } from "@countersign/local-stack/postgres.ts";
import { inTemporaryState } from "@countersign/local-stack/temporary-state.ts";
import { migrate } from "@countersign/migrations/migrate.ts";
import { command, runCommand } from "@countersign/runtime/command.ts";
import { simulateYear, type Urls, type Year } from "./simulate-year.ts";
import { RATES } from "./year-traffic.ts";

const row = (...cells: unknown[]) => `| ${cells.join(" | ")} |`;

function print({ tables, jobs, problems }: Year): void {
  console.log(row("table", "rows, month 4", "rows, month 12", "MiB", "deleted in the year"));
  console.log(row("---", "---", "---", "---", "---"));
  for (const { table, early, late, kib, deleted } of tables)
    console.log(row(table, early, late, (kib / 1024).toFixed(1), deleted));
  console.log(`\n${row("job", "longest run, months 1 to 3, ms", "months 10 to 12, ms", "longest statement, ms")}`);
  console.log(row("---", "---", "---", "---"));
  for (const { job, early, late, statement } of jobs)
    console.log(row(job, Math.round(early), Math.round(late), statement > 0 ? Math.round(statement) : "–"));
  if (problems.length > 0) throw new Failure([...new Set(problems)].join("\n"));
}

const year = command({
  usage: "[--accounts <n>] [--starts <n>]",
  // Its Postgres does not wait for the disk.
  about: `Writes a year of traffic, runs the periodic jobs on it, and fails where a table or job grows. ${RATES}.`,
  options: {
    accounts: { type: "string", default: "100000" },
    /** Starts of signer processes a day. */
    starts: { type: "string", default: "20" },
  },
  async run({ values }) {
    await inTemporaryState("year", async (stateDir) => {
      const postgres = await startPostgres({
        stateDir,
        port: await freePort(),
        logFile: join(stateDir, "postgres.log"),
        throwAway: true,
      });
      try {
        await createDatabases(postgres);
        for (const name of services) await migrate(name, postgres.urlOf(name));
        const urls = Object.fromEntries(services.map((name) => [name, postgres.urlOf(name)])) as Urls;
        print(await simulateYear(urls, Number(values.accounts), Number(values.starts), console.error));
      } finally {
        await postgres.child.stop();
      }
    });
  },
});

await runCommand("npm run simulate-year --", [year], reportFailure);
