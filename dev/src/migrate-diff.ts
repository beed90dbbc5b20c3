import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure, reportFailure } from "@countersign/build/fail.ts";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { postgresHome, startPostgres } from "@countersign/local-stack/postgres.ts";
import { writeMigration } from "@countersign/migrations/migrate.ts";

/**
 * `node dev/src/migrate-diff.ts <service> <name>`: writes the migration from the migrations so far to
 * schema.prisma.
 */
async function main([service, name]: string[]): Promise<void> {
  if (!services.includes(service as ServiceName) || !/^[a-z][a-z0-9_]*$/.test(name ?? "")) {
    throw new Failure(`usage: node dev/src/migrate-diff.ts <${services.join("|")}> <name_in_snake_case>`);
  }
  const stateDir = mkdtempSync(join(tmpdir(), "countersign-diff-"));
  const logFile = join(stateDir, "postgres.log");
  const postgres = await startPostgres({ stateDir, port: await freePort(), logFile, throwAway: true });
  try {
    const path = await writeMigration(service as ServiceName, name as string, postgres.adminUrl);
    console.log(path ?? `${service}: schema.prisma and the migrations agree already`);
  } finally {
    await postgres.child.stop();
    for (const path of [stateDir, postgresHome(stateDir)]) rmSync(path, { recursive: true, force: true });
  }
}

main(process.argv.slice(2)).catch(reportFailure);
