import { join } from "node:path";
import { reportFailure } from "@countersign/build/fail.ts";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { startPostgres } from "@countersign/local-stack/postgres.ts";
import { inTemporaryState } from "@countersign/local-stack/temporary-state.ts";
import { writeMigration } from "@countersign/migrations/migrate.ts";
import { command, runCommand, UsageError } from "@countersign/runtime/command.ts";

const isService = (name: string): name is ServiceName => services.some((each) => each === name);

/** Writes the migration of a service from its migrations so far to its schema.prisma. */
const migrateDiff = (service: ServiceName, name: string): Promise<void> =>
  inTemporaryState("diff", async (stateDir) => {
    const logFile = join(stateDir, "postgres.log");
    const postgres = await startPostgres({ stateDir, port: await freePort(), logFile, throwAway: true });
    const written = writeMigration(service, name, postgres.adminUrl);
    const path = await written.finally(() => postgres.child.stop());
    console.log(path ?? `${service}: schema.prisma and the migrations agree already`);
  });

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
