import { reportFailure } from "@countersign/build/fail.ts";
import { services } from "@countersign/build/paths.ts";
import { createDatabases, databaseUrls } from "@countersign/local-stack/databases.ts";
import { readTrimmed } from "@countersign/local-stack/secrets.ts";
import { migrate } from "@countersign/migrations/migrate.ts";
import { processPath, required } from "./settings.ts";

/** Creates missing roles and databases of all services, and migrates them: a step of docker-compose.yml. */
async function setUpDatabases(): Promise<void> {
  const urls = databaseUrls(readTrimmed(processPath("postgres", "password")), required("CS_POSTGRES_ADDRESS"));
  await createDatabases(urls);
  for (const service of services) {
    const applied = await migrate(service, urls.urlOf(service));
    console.log(`${service}: ${applied.length > 0 ? `applied ${applied.join(", ")}` : "migrations are up to date"}`);
  }
}

await setUpDatabases().catch(reportFailure);
