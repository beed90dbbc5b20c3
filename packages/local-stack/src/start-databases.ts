import { join } from "node:path";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { migrate } from "@countersign/migrations/migrate.ts";
import type { StartChild } from "./child.ts";
import { type Citus, distributeAll, NODES, startCitus } from "./citus.ts";
import { createDatabases, type DatabaseUrls, onPort } from "./databases.ts";
import { startPgbouncer } from "./pgbouncer.ts";
import { freePort, freePorts } from "./ports.ts";
import { startPostgres } from "./postgres.ts";
import type { Restarts } from "./restarts.ts";
import type { StackOptions } from "./stack-options.ts";

/** Starts one Postgres server for all databases, or one for each, and creates the databases. */
async function startServers(
  { stateDir, throwAway, ownPostgres, citus, say }: StackOptions,
  port: number,
  logFile: string,
  start: StartChild,
  restarts: Restarts,
): Promise<DatabaseUrls & { citus?: Citus }> {
  if (citus) {
    const nodeLog = (node: number) => (node === 0 ? logFile : join(stateDir, "log", `postgres-worker-${node}.log`));
    const ports = [port, ...(await freePorts(NODES - 1))];
    const { begin } = restarts;
    const started = await startCitus({ ...citus, stateDir, throwAway, ports, logFile: nodeLog, start, begin });
    return { ...started, citus: started };
  }
  if (!ownPostgres) {
    const shared = { stateDir, port, logFile, throwAway, start };
    const postgres = await restarts.begin("postgres", () => startPostgres(shared));
    if (postgres.replaced) say("postgres had data of an earlier checkout at this path: created again");
    await createDatabases(postgres);
    return postgres;
  }
  const begun = services.map(async (service) => {
    const name = `postgres-${service}`;
    const own = { stateDir: join(stateDir, name), name, port: await freePort(), settings: ownPostgres(service) };
    const ownLog = join(stateDir, "log", `${name}.log`);
    const postgres = await restarts.begin(name, () => startPostgres({ ...own, logFile: ownLog, start }));
    await createDatabases(postgres, [service]);
    return [service, postgres] as const;
  });
  const servers = new Map(await Promise.all(begun));
  return { adminUrl: servers.get("auth")!.adminUrl, urlOf: (service) => servers.get(service)!.urlOf(service) };
}

/** Starts Postgres, brings each database to the newest schema, and says what it applied. */
export async function startDatabases(
  options: StackOptions,
  port: number,
  logFile: string,
  start: StartChild,
  restarts: Restarts,
) {
  const postgres = await startServers(options, port, logFile, start, restarts);
  const applied = await Promise.all(services.map((service) => migrate(service, postgres.urlOf(service))));
  if (postgres.citus) await distributeAll(postgres.citus);
  options.say(`postgres is up${applied.some(({ length }) => length > 0) ? "" : ", migrations are up to date"}`);
  for (const [index, names] of applied.entries()) {
    if (names.length > 0) options.say(`  ${services[index]}: ${names.length} migrations, up to ${names.at(-1)}`);
  }
  return postgres;
}

/** Returns how services connect to their databases: directly, or through the PgBouncer that it starts. */
export async function startPooler(
  { pgbouncer: binary, stateDir, citus: chosen }: StackOptions,
  { urlOf, citus }: DatabaseUrls & { citus?: Citus },
  logFile: string,
  start: StartChild,
  restarts: Restarts,
): Promise<(service: ServiceName) => string> {
  if (citus)
    return (service) => citus.urlOn((services.indexOf(service) + (chosen?.firstNode ?? 0)) % NODES, urlOf(service));
  if (!binary) return urlOf;
  const port = await freePort();
  const databases = Object.fromEntries(services.map((service) => [`countersign_${service}`, urlOf(service)]));
  await restarts.begin("pgbouncer", () => startPgbouncer({ binary, stateDir, port, databases, logFile, start }));
  return (service) => onPort(urlOf(service), port);
}
