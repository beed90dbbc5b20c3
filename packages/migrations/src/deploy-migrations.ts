import { Failure } from "@countersign/build/fail.ts";
import type { ServiceName } from "@countersign/build/paths.ts";
import { executeSql } from "./execute-sql.ts";
import { migrate } from "./migrate.ts";

const ROLE = /^[a-z_][a-z0-9_]{0,62}$/;

/** Returns the role of a service itself, <SERVICE>_DATABASE_ROLE; undefined where it is the owner. */
export function serviceRole(service: ServiceName, env: NodeJS.ProcessEnv): string | undefined {
  const name = `${service.toUpperCase()}_DATABASE_ROLE`;
  const role = env[name] || undefined;
  if (role !== undefined && !ROLE.test(role)) throw new Failure(`${name}: ${role} is not the name of a role.`);
  return role;
}

/** Tables whose rows a service adds and reads, and neither changes nor deletes. */
const APPEND_ONLY = ["admin_action"];

/**
 * Applies a service's pending migrations as the owner of its database and returns their names. Gives `role`
 * the rows of every table and nothing else: it can neither change the schema nor read the record of the
 * migrations. Idempotent.
 */
export async function deployMigrations(service: ServiceName, url: string, role?: string): Promise<string[]> {
  if (role === undefined) return migrate(service, url);
  const rows = "SELECT, INSERT, UPDATE, DELETE";
  // First, so that a process of the new version never sees a table that it may not use.
  await executeSql(url, [
    `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ${rows} ON TABLES TO ${role}`,
    `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO ${role}`,
  ]);
  const applied = await migrate(service, url);
  await executeSql(url, [
    // In one transaction: at no moment may the service change what is append-only.
    "BEGIN",
    `GRANT ${rows} ON ALL TABLES IN SCHEMA public TO ${role}`,
    `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`,
    `REVOKE ALL ON _prisma_migrations FROM ${role}`,
    `REVOKE UPDATE, DELETE, TRUNCATE ON ${APPEND_ONLY.join(", ")} FROM ${role}`,
    "COMMIT",
  ]);
  return applied;
}
