import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { sleepUntil, unchanging, type Watched } from "@countersign/core";
import pg from "pg";

export interface Timeouts {
  /** Milliseconds to wait for a connection. Default 5,000. */
  connectMs?: number;
  /** Milliseconds after which Postgres cancels a statement. Default 10,000. */
  statementMs?: number;
  /** Milliseconds to wait for the next byte of a server that not even cancels a statement. Default 12,000. */
  queryMs?: number;
  /** Milliseconds after which Postgres ends a transaction without a statement. Default 30,000. */
  idleInTransactionMs?: number;
}

export interface PoolOptions {
  /** The most connections. Default 5. */
  connections?: number;
  timeouts?: Timeouts;
  /** Called with the seconds that work has waited for a connection, where none was free. */
  onWait?(seconds: number): void;
  /** Called when an idle connection breaks; the next query opens a new one. */
  onError?(error: unknown): void;
  /** Called for each new connection with the ends of both certificates, where it has them. */
  onConnect?(certificates: { server: Date | undefined; client: Date | undefined }): void;
}

/** After that, no connection has an old password, certificate or CA. */
const MAX_LIFETIME_S = 3_600;
/** SQLSTATE: the password is wrong; there is no such role. */
const NOT_AUTHENTICATED = new Set(["28P01", "28000"]);
const READ_ONLY = "25006";
/** Milliseconds between two looks whether there is a new password. */
const LOOK_MS = 250;

/**
 * Creates a connection pool. A changed `databaseUrl` counts for new connections; open ones stay until they
 * are an hour old. A server that fails silently (a dead machine or network, a stopped process)
 * sends nothing, and TCP waits for about 15 minutes. Each wait therefore has a timeout, after which the
 * caller gets Unavailable.
 */
export function createPool(databaseUrl: string | Watched<string>, pool: PoolOptions = {}): pg.Pool {
  const { connections = 5, onWait, onConnect, onError = () => undefined } = pool;
  const url = typeof databaseUrl === "string" ? unchanging(databaseUrl) : databaseUrl;
  const { connectMs = 5_000, statementMs = 10_000, queryMs = 12_000 } = pool.timeouts ?? {};
  const { idleInTransactionMs = 30_000 } = pool.timeouts ?? {};
  const created = new pg.Pool({
    connectionString: url.current(),
    max: connections,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    // Not all at the same time.
    maxLifetimeSeconds: Math.ceil((MAX_LIFETIME_S * (1 + Math.random())) / 2),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    statement_timeout: statementMs,
    // A client that hangs inside a transaction holds its locks for at most this long.
    idle_in_transaction_session_timeout: idleInTransactionMs,
    application_name: "countersign",
  });
  const end = url.onChange((changed) => {
    created.options.connectionString = changed;
  });
  const close = created.end.bind(created);
  created.end = (() => {
    end();
    return close();
  }) as typeof created.end;
  retryWithNewUrl(created, url, connectMs);
  created.on("error", onError);
  if (onWait !== undefined) observeWaits(created, onWait);
  created.on("connect", (client) => {
    // Between being taken from the pool and its first query nobody else listens, and an error without a
    // listener ends the process. The client's next query fails.
    client.on("error", () => undefined);
    closeWhenSilent(client, queryMs);
    // During a failover the server's name may lead to one that only reads: not for the connection's life.
    client.connection.on("errorMessage", ({ code }) => code === READ_ONLY && client.connection.stream.destroy());
    onConnect?.(certificateEnds(client.connection.stream as Socket));
  });
  return created;
}

type Connect = Parameters<pg.Pool["connect"]>[0];

/**
 * Connects once more where Postgres refuses the password or the role, and there is a new one: the database
 * has it before the file has. Waits for the file, as long as for a connection.
 */
function retryWithNewUrl(pool: pg.Pool, url: Watched<string>, waitMs: number): void {
  const connect = pool.connect.bind(pool) as (callback?: Connect) => Promise<pg.PoolClient>;
  const mayRetry = async (error: unknown, used: string): Promise<boolean> => {
    if (!NOT_AUTHENTICATED.has((error as { code?: string } | undefined)?.code ?? "")) return false;
    const until = performance.now() + waitMs;
    do {
      url.refresh();
      if (url.current() !== used) return true;
    } while (performance.now() < until && (await sleepUntil(LOOK_MS, [])));
    return false;
  };
  pool.connect = ((callback?: Connect) => {
    const used = url.current();
    if (callback === undefined) {
      return connect().catch(async (error: unknown) => {
        if (await mayRetry(error, used)) return connect();
        throw error;
      });
    }
    return connect((error, client, release) => {
      if (error === undefined || error === null) return callback(error, client, release);
      void mayRetry(error, used).then((again) => {
        if (again) void connect(callback);
        else callback(error, client, release);
      });
    });
  }) as typeof pool.connect;
}

/** Returns when the certificates of a connection end. */
function certificateEnds(stream: Socket) {
  const end = (certificate: { valid_to?: string } | object | null): Date | undefined =>
    certificate !== null && "valid_to" in certificate ? new Date(certificate.valid_to as string) : undefined;
  if (!(stream instanceof TLSSocket)) return { server: undefined, client: undefined };
  return { server: end(stream.getPeerCertificate()), client: end(stream.getCertificate()) };
}

/** Times what has to wait for a connection that other work uses. */
function observeWaits(pool: pg.Pool, onWait: (seconds: number) => void): void {
  const connect = pool.connect.bind(pool) as (callback?: Connect) => Promise<pg.PoolClient>;
  pool.connect = ((callback?: Connect) => {
    const free = pool.idleCount + pool.options.max - pool.totalCount;
    if (pool.waitingCount < free) return connect(callback);
    const started = performance.now();
    const end = () => onWait((performance.now() - started) / 1_000);
    if (callback === undefined) return connect().finally(end);
    return connect((...args) => {
      end();
      callback(...args);
    });
  }) as typeof pool.connect;
}

/**
 * Closes the connection when a query has had no byte of an answer for `queryMs`; its queries then fail. pg's
 * own `query_timeout` keeps such a connection: the next query, a transaction's ROLLBACK or the query of the
 * next borrower, then waits behind the answer that never comes.
 */
function closeWhenSilent(client: pg.PoolClient, queryMs: number): void {
  const stream = client.connection.stream as Socket;
  // With a callback the timer would call it once, and a connection that was idle would lose its time limit.
  stream.setTimeout(queryMs);
  stream.on("timeout", () => {
    const { readyForQuery } = client as unknown as { readyForQuery: boolean };
    if (!readyForQuery) stream.destroy(new Error("Query read timeout"));
  });
}
