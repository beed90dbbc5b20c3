import { type Logger, sleepUntil, type TlsMaterial } from "@countersign/service-kit";
import { connect, Events, type NatsConnection } from "nats";

export interface NatsOptions {
  /** For example "tls://127.0.0.1:4222"; several with commas. */
  natsUrl: string;
  /** The client's certificate; its name decides what may be published. Without it: plain TCP, for tests. */
  tls?: TlsMaterial | undefined;
  /** The connection's name in the server's lists. */
  name: string;
  logger: Logger;
}

export interface NatsLink {
  /** The connection while it is up, else undefined. */
  current(): NatsConnection | undefined;
  /** Resolves with the connection once it is up; undefined when it is closed before. */
  connected(): Promise<NatsConnection | undefined>;
  close(): Promise<void>;
}

const RETRY_MS = 1_000;
const CLOSE_MS = 4_000;

/** Keeps a connection to NATS for as long as it takes; NATS being away is normal. */
export function linkNats(options: NatsOptions): NatsLink {
  const { logger, tls } = options;
  const stop = new AbortController();
  let connection: NatsConnection | undefined;
  let up = false;

  const open = (): Promise<NatsConnection> =>
    connect({
      servers: options.natsUrl.split(","),
      name: options.name,
      timeout: 3_000,
      reconnectTimeWait: RETRY_MS,
      maxReconnectAttempts: -1,
      pingInterval: 10_000,
      maxPingOut: 2,
      ...(tls === undefined
        ? {}
        : { tls: { ca: tls.ca.toString(), cert: tls.cert.toString(), key: tls.key.toString() } }),
    });

  const follow = async (made: NatsConnection): Promise<void> => {
    for await (const { type } of made.status()) {
      if (type === Events.Disconnect) {
        if (up) logger.warn("lost NATS");
        up = false;
      } else if (type === Events.Reconnect) {
        up = true;
        logger.info("found NATS again");
      }
    }
  };

  const run = async (): Promise<void> => {
    let told = false;
    while (!stop.signal.aborted) {
      try {
        const made = await open();
        connection = made;
        up = true;
        told = false;
        if (stop.signal.aborted) return;
        // Not waited for: the iterator of a connection's states does not end when it is closed.
        void follow(made).catch(() => undefined);
        const err = await made.closed();
        up = false;
        if (!stop.signal.aborted) logger.error({ err }, "NATS closed the connection");
      } catch (err) {
        if (!told) logger.warn({ err }, "NATS is away");
        told = true;
      }
      await sleepUntil(RETRY_MS, [stop.signal]);
    }
  };
  const finished = run();
  const current = () => (up && connection !== undefined && !connection.isClosed() ? connection : undefined);

  return {
    current,
    async connected() {
      while (!stop.signal.aborted) {
        const found = current();
        if (found !== undefined) return found;
        await sleepUntil(100, [stop.signal]);
      }
      return undefined;
    },
    async close() {
      stop.abort();
      const closed = async () => {
        await connection?.close().catch(() => undefined);
        await finished;
        await connection?.close().catch(() => undefined);
        return true;
      };
      // A stop must not wait for a library's last words; rows that are not marked go out again.
      if (!(await Promise.race([closed(), sleepUntil(CLOSE_MS, []).then(() => false)])))
        logger.warn("NATS did not close in time");
    },
  };
}
