import { type Logger, sleepUntil } from "@countersign/core";
import pg from "pg";

export interface ListenOptions {
  /** Of the database itself: a pooler that shares connections between transactions does not notify. */
  databaseUrl: string;
  logger: Logger;
  /** Milliseconds before a lost connection is opened again. Default 500. */
  retryMs?: number;
  /** Milliseconds between two liveness checks of the connection, and the timeout of each. Default 5,000. */
  aliveMs?: number;
}

export interface ListenedChannel {
  /** Whether every notification is received now. */
  connected(): boolean;
}

export interface PostgresListener {
  /**
   * Listens on a channel, once per channel. `onNotify` is called for each notification, and once after each
   * (re)connect, because notifications may have been missed.
   */
  listen(channel: string, onNotify: (payload: string) => void): ListenedChannel;
  close(): Promise<void>;
}

/** Opens one connection that listens on Postgres channels until it is closed; opens a lost one again. */
export function listenPostgres(options: ListenOptions): PostgresListener {
  const { logger, retryMs = 500, aliveMs = 5_000 } = options;
  const stop = new AbortController();
  const channels = new Map<string, (payload: string) => void>();
  const listening = new Set<string>();
  let client: pg.Client | undefined;
  let isOpen = false;

  const begin = async (connection: pg.Client, channel: string): Promise<void> => {
    await connection.query(`LISTEN ${connection.escapeIdentifier(channel)}`);
    if (client !== connection || !isOpen) return;
    listening.add(channel);
    channels.get(channel)?.("");
  };

  const once = async (): Promise<void> => {
    const connection = new pg.Client({
      connectionString: options.databaseUrl,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: aliveMs,
      application_name: "listen",
    });
    client = connection;
    const lost = new Promise<void>((resolve) => {
      connection.on("error", () => resolve());
      connection.once("end", () => resolve());
    });
    connection.on("notification", ({ channel, payload }) => channels.get(channel)?.(payload ?? ""));
    await connection.connect();
    isOpen = true;
    // To a listener, a server that failed silently looks like one without notifications.
    const liveness = setInterval(() => {
      connection.query("SELECT 1").catch(() => void connection.end());
    }, aliveMs);
    try {
      await Promise.all([...channels.keys()].map((channel) => begin(connection, channel)));
      await lost;
    } finally {
      clearInterval(liveness);
    }
  };

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        await once();
      } catch (err) {
        if (!stop.signal.aborted) logger.warn({ err }, "cannot listen on Postgres; will retry");
      }
      isOpen = false;
      listening.clear();
      await client?.end().catch(() => undefined);
      await sleepUntil(retryMs, [stop.signal]);
    }
  };
  const finished = run();

  return {
    listen(channel, onNotify) {
      channels.set(channel, onNotify);
      const connection = client;
      if (connection !== undefined && isOpen) begin(connection, channel).catch(() => void connection.end());
      return { connected: () => listening.has(channel) };
    },
    async close() {
      stop.abort();
      await client?.end().catch(() => undefined);
      await finished;
    },
  };
}
