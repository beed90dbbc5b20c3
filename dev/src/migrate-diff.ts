import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportFailure } from "@countersign/build/fail.ts";
import { postgresDir, type ServiceName, services } from "@countersign/build/paths.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { startPostgres } from "@countersign/local-stack/postgres.ts";
import { writeMigration } from "@countersign/migrations/migrate.ts";
import { command, runCommand, UsageError } from "@countersign/runtime/command.ts";

const isService = (name: string): name is ServiceName => services.some((each) => each === name);

/** Writes the migration of a service from its migrations so far to its schema.prisma. */
async function migrateDiff(service: ServiceName, name: string): Promise<void> {
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-diff-"));
  const logFile = join(stateDir, "postgres.log");
  const postgres = await startPostgres({ stateDir, port: await freePort(), logFile, throwAway: true });
  try {
    const path = await writeMigration(service, name, postgres.adminUrl);
    console.log(path ?? `${service}: schema.prisma and the migrations agree already`);
  } finally {
    await postgres.child.stop();
    for (const path of [stateDir, postgresDir(stateDir)]) rmSync(path, { recursive: true, force: true });
  }
}

const migrateDiffCommand = command({
  usage: `<${services.join("|")}> <name_in_snake_case>`,
  about: "Writes the migration of a service from its migrations so far to its schema.prisma.",
  options: {},
  positionals: true,
  async run({ positionals: [service = "", name = "", ...rest] }) {
    if (!isService(service) || !/^[a-z][a-z0-9_]*$/.test(name) || rest.length > 0) throw new UsageError(this.usage);
    await migrateDiff(service, name);
  },
});

await runCommand("node dev/src/migrate-diff.ts", [migrateDiffCommand], reportFailure);
