import { type Logger, sleepUntil, type TlsMaterial } from "@countersign/core";
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
const FLUSH_MS = 500;
const CLOSE_MS = 4_000;

/** Whether the work ended in time, well or not; where it did not, it goes on. */
async function inTime(work: Promise<unknown> | undefined, milliseconds: number): Promise<boolean> {
  const over = new AbortController();
  const ended = Promise.resolve(work).then(
    () => true,
    () => true,
  );
  const late = sleepUntil(milliseconds, [over.signal]).then(() => false);
  return Promise.race([ended, late]).finally(() => over.abort());
}

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
        // NATS delivers to a connection whose end it has not heard of, and again only when the time to acknowledge is over. What is on its way by then stays such a case.
        if (current() !== undefined) await inTime(connection?.flush(), FLUSH_MS);
        await connection?.close().catch(() => undefined);
        await finished;
        await connection?.close().catch(() => undefined);
      };
      // A stop must not wait for a library's last words; rows that are not marked go out again.
      if (!(await inTime(closed(), CLOSE_MS))) logger.warn("NATS did not close in time");
    },
  };
}
