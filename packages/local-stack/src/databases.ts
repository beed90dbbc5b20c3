import { createHmac } from "node:crypto";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { withClient } from "@countersign/migrations/execute-sql.ts";

export interface DatabaseUrls {
  /** Superuser's connection string, database `postgres`. */
  adminUrl: string;
  /** Connection string of a service's own role to its own database. */
  urlOf(service: ServiceName): string;
}

/**
 * Returns the users and databases of the server at `address` (host:port). Every role's password derives from
 * the superuser's.
 */
export function databaseUrls(password: string, address: string): DatabaseUrls {
  return {
    adminUrl: `postgresql://postgres:${password}@${address}/postgres`,
    urlOf: (service) => {
      const name = `countersign_${service}`;
      return `postgresql://${name}:${rolePassword(password, service)}@${address}/${name}`;
    },
  };
}

/** Returns the connection string of the same database through what listens on this port. */
export function onPort(url: string, port: number): string {
  const moved = new URL(url);
  moved.port = String(port);
  return moved.href;
}

function rolePassword(secret: string, service: ServiceName): string {
  return createHmac("sha256", secret).update(service).digest("hex").slice(0, 40);
}

/** Creates what is missing: per service a role and a database that it owns and nobody else may enter. */
export const createDatabases = (postgres: DatabaseUrls, owners: readonly ServiceName[] = services): Promise<void> =>
  withClient(postgres.adminUrl, async (client) => {
    for (const service of owners) {
      const name = `countersign_${service}`;
      const password = new URL(postgres.urlOf(service)).password;
      const role = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [name]);
      if (role.rowCount === 0) await client.query(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`);
      const database = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
      if (database.rowCount === 0) {
        await client.query(`CREATE DATABASE ${name} OWNER ${name}`);
        await client.query(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC`);
      }
    }
  });
