import { type Logger, sleepUntil } from "@countersign/core";
import pg from "pg";

export interface ListenOptions {
  databaseUrl: string;
  channel: string;
  /**
   * Called for each notification, and once after each (re)connect, because notifications may have been
   * missed.
   */
  onNotify: (payload: string) => void;
  logger: Logger;
  /** Milliseconds before a lost connection is opened again. Default 500. */
  retryMs?: number;
  /** Milliseconds between two liveness checks of the connection, and the timeout of each. Default 5,000. */
  aliveMs?: number;
}

export interface PostgresListener {
  /** Whether the connection is open. */
  connected(): boolean;
  close(): Promise<void>;
}

/** Listens on a Postgres channel until it is closed; opens lost connections again. */
export function listenPostgres(options: ListenOptions): PostgresListener {
  const { channel, logger, retryMs = 500, aliveMs = 5_000 } = options;
  const stop = new AbortController();
  let client: pg.Client | undefined;
  let connected = false;

  const once = async (): Promise<void> => {
    const connection = new pg.Client({
      connectionString: options.databaseUrl,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: aliveMs,
      application_name: `listen ${channel}`,
    });
    client = connection;
    const lost = new Promise<void>((resolve) => {
      connection.on("error", () => resolve());
      connection.once("end", () => resolve());
    });
    connection.on("notification", ({ payload }) => options.onNotify(payload ?? ""));
    await connection.connect();
    await connection.query(`LISTEN ${connection.escapeIdentifier(channel)}`);
    connected = true;
    options.onNotify("");
    // To a listener, a server that failed silently looks like one without notifications.
    const liveness = setInterval(() => {
      connection.query("SELECT 1").catch(() => void connection.end());
    }, aliveMs);
    await lost.finally(() => clearInterval(liveness));
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await once();
      } catch (err) {
        if (!stop.signal.aborted) logger.warn({ err, event: channel }, "cannot listen on Postgres; will retry");
      }
      connected = false;
      await client?.end().catch(() => undefined);
      await sleepUntil(retryMs, [stop.signal]);
    }
  };
  const finished = run();

  return {
    connected: () => connected,
    close: async () => {
      stop.abort();
      await client?.end().catch(() => undefined);
      await finished;
    },
  };
}
