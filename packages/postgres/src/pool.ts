import pg from "pg";
import { connectionSettings, type Patience } from "./connections.ts";

/** Connections to Postgres, for what goes past Prisma. */
export type PostgresPool = pg.Pool;

export interface PoolOptions {
  connections: number;
  /** What Postgres lists the connections as. */
  applicationName: string;
  /** Settings of its sessions, as on the command line: "-c name=value". */
  options?: string;
  patience?: Patience;
  /** A connection that breaks while it waits; the next query makes a new one. */
  onError(error: unknown): void;
}

/** A pool of plain connections; no wait for one, or for an answer, is without an end. */
export function createPool(databaseUrl: string, { connections, applicationName, ...rest }: PoolOptions): PostgresPool {
  const { options, patience, onError } = rest;
  const pool = new pg.Pool({
    ...connectionSettings(databaseUrl, patience),
    max: connections,
    application_name: applicationName,
    ...(options !== undefined && { options }),
  });
  pool.on("error", onError);
  return pool;
}
