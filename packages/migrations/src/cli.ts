import { Failure, reportFailure } from "@countersign/build/fail.ts";
import { services } from "@countersign/build/paths.ts";
import { servicesToMigrate } from "./database-url.ts";
import { deployMigrations, serviceRole } from "./deploy-migrations.ts";
import { distribute } from "./distribute.ts";

// `node packages/migrations/src/cli.ts deploy [service]…`: applies the pending migrations, by default of
// every service whose connection string is set. `distribute` puts their tables onto the nodes of Citus, as
// the superuser. As `prisma migrate deploy`, without its native engine.
try {
  const [command, ...named] = process.argv.slice(2);
  if (command === "distribute") {
    for (const { service, url } of servicesToMigrate(services, named, process.env)) {
      const placed = await distribute(service, url);
      console.log(`${service}: ${placed.length > 0 ? `distributed ${placed.join(", ")}` : "all is distributed"}`);
    }
    process.exit();
  }
  if (command !== "deploy") throw new Failure("usage: deploy | distribute [service]…");
  for (const { service, url } of servicesToMigrate(services, named, process.env)) {
    const applied = await deployMigrations(service, url, serviceRole(service, process.env));
    console.log(`${service}: ${applied.length > 0 ? `applied ${applied.join(", ")}` : "migrations are up to date"}`);
  }
} catch (error) {
  reportFailure(error);
}
