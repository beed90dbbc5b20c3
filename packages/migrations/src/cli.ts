import { Failure, reportFailure } from "@countersign/build/fail.ts";
import { services } from "@countersign/build/paths.ts";
import { servicesToMigrate } from "./database-url.ts";
import { deployMigrations, serviceRole } from "./deploy-migrations.ts";

// `node packages/migrations/src/cli.ts deploy [service]…`: applies the pending migrations, by default of
// every service whose connection string is set. As `prisma migrate deploy`, without its native engine.
try {
  const [command, ...named] = process.argv.slice(2);
  if (command !== "deploy") throw new Failure("usage: deploy [service]…");
  for (const { service, url } of servicesToMigrate(services, named, process.env)) {
    const applied = await deployMigrations(service, url, serviceRole(service, process.env));
    console.log(`${service}: ${applied.length > 0 ? `applied ${applied.join(", ")}` : "migrations are up to date"}`);
  }
} catch (error) {
  reportFailure(error);
}
