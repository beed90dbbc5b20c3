import { type Logger, sleepUntil, type TlsMaterial } from "@countersign/core";
import { connect, Events, type NatsConnection } from "nats";

export interface NatsOptions {
  /** For example "tls://127.0.0.1:4222"; several are separated by commas. */
  natsUrl: string;
  /** The client's certificate; its name decides what may be published. Without it: plain TCP, for tests. */
  tls?: TlsMaterial | undefined;
  /** The connection's name in the server's lists. */
  name: string;
  logger: Logger;
}

/** A process's connection to NATS, which its publisher, consumers and feed share. */
export interface NatsLink {
  /** The connection while it is up, else undefined. */
  current(): NatsConnection | undefined;
  /** Resolves with the connection once it is up; undefined when `ended` aborts before. */
  connected(ended: AbortSignal): Promise<NatsConnection | undefined>;
  /** Closes the connection; its users must have ended. */
  close(): Promise<void>;
}

const RETRY_MS = 1_000;
const FLUSH_MS = 500;
const CLOSE_MS = 4_000;

/** Returns whether the work ended in time, successfully or not; otherwise it continues. */
async function inTime(work: Promise<unknown> | undefined, milliseconds: number): Promise<boolean> {
  const over = new AbortController();
  const ended = Promise.resolve(work).then(
    () => true,
    () => true,
  );
  const late = sleepUntil(milliseconds, [over.signal]).then(() => false);
  return Promise.race([ended, late]).finally(() => over.abort());
}

/** Keeps a connection to NATS until it is closed; it is normal that NATS is away at times. */
export function linkNats(options: NatsOptions): NatsLink {
  const { tls } = options;
  const logger = options.logger.child({ component: "nats" });
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
      // Otherwise the library makes an error with its stack for each request, in case one has to be thrown.
      noAsyncTraces: true,
      ...(tls === undefined
        ? {}
        : { tls: { ca: tls.ca.toString(), cert: tls.cert.toString(), key: tls.key.toString() } }),
    });

  const follow = async (made: NatsConnection): Promise<void> => {
    for await (const { type } of made.status()) {
      if (type === Events.Disconnect) {
        if (up) logger.warn("NATS connection lost; will reconnect");
        up = false;
      } else if (type === Events.Reconnect) {
        up = true;
        logger.info("NATS reconnected");
      }
    }
  };

  const run = async (): Promise<void> => {
    let isReported = false;
    while (!stop.signal.aborted) {
      try {
        const made = await open();
        connection = made;
        up = true;
        isReported = false;
        if (stop.signal.aborted) return;
        // Not awaited: the iterator of a connection's states does not end when the connection is closed.
        void follow(made).catch(() => undefined);
        const err = await made.closed();
        up = false;
        if (!stop.signal.aborted) logger.error({ err }, "NATS closed the connection; will reconnect");
      } catch (err) {
        if (!isReported) logger.warn({ err }, "cannot connect to NATS; will retry");
        isReported = true;
      }
      await sleepUntil(RETRY_MS, [stop.signal]);
    }
  };
  const finished = run();
  const current = () => (up && connection !== undefined && !connection.isClosed() ? connection : undefined);

  return {
    current,
    async connected(ended) {
      while (!ended.aborted) {
        const found = current();
        if (found !== undefined) return found;
        await sleepUntil(100, [ended]);
      }
      return undefined;
    },
    async close() {
      stop.abort();
      const closed = async () => {
        // NATS delivers to a connection until it learns that it has ended, and again only after the time to
        // acknowledge. Events that are in transit by then still come late.
        if (current() !== undefined) await inTime(connection?.flush(), FLUSH_MS);
        await connection?.close().catch(() => undefined);
        await finished;
        await connection?.close().catch(() => undefined);
      };
      // A stop must not wait for the library to finish; unmarked rows are published again.
      if (!(await inTime(closed(), CLOSE_MS))) logger.warn("NATS did not close in time");
    },
  };
}
