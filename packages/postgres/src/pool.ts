import pg from "pg";
import { connectionSettings, type Timeouts } from "./connections.ts";

/** Connections to Postgres for queries that do not use Prisma. */
export type PostgresPool = pg.Pool;

export interface PoolOptions {
  connections: number;
  /** The name that Postgres lists the connections under. */
  applicationName: string;
  /** Session settings in command-line form: "-c name=value". */
  options?: string;
  timeouts?: Timeouts;
  /** Called when an idle connection breaks; the next query opens a new one. */
  onError(error: unknown): void;
}

/** Creates a pool of plain connections. Waiting for a connection and for an answer both have a timeout. */
export function createPool(databaseUrl: string, { connections, applicationName, ...rest }: PoolOptions): PostgresPool {
  const { options, timeouts, onError } = rest;
  const pool = new pg.Pool({
    ...connectionSettings(databaseUrl, timeouts),
    max: connections,
    application_name: applicationName,
    ...(options !== undefined && { options }),
  });
  pool.on("error", onError);
  return pool;
}
