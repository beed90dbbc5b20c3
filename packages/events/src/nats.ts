import { asWatched, type Logger, sleepUntil, type TlsMaterial, type Watched } from "@countersign/core";
import { connect, Events, type NatsConnection } from "nats";

export interface NatsOptions {
  /** For example "tls://127.0.0.1:4222"; several are separated by commas. */
  natsUrl: string;
  /**
   * The client's certificate; its name decides what may be published. It may change: a new connection then
   * replaces the old one. Without it: plain TCP, for tests.
   */
  tls?: TlsMaterial | Watched<TlsMaterial> | undefined;
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
/** Files that change each second must not make more and more connections. */
const MAX_REPLACED = 2;
/** Milliseconds for which a replaced connection stays open: its users leave it after ten seconds. */
const REPLACED_MS = 60_000;

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

interface Open {
  readonly connection: NatsConnection;
  up: boolean;
}

/**
 * Keeps a connection to NATS until it is closed; it is normal that NATS is away at times. When the
 * certificate or the CA has changed, another connection takes its place once it is open.
 */
export function linkNats(options: NatsOptions): NatsLink {
  const tls = options.tls === undefined ? undefined : asWatched(options.tls);
  const logger = options.logger.child({ component: "nats" });
  const stop = new AbortController();
  const replaced = new Set<NatsConnection>();
  let link: Open | undefined;

  // Read for each connection, also when the library connects again.
  const certificates = tls && {
    get ca() {
      return tls.current().ca.toString();
    },
    get cert() {
      return tls.current().cert.toString();
    },
    get key() {
      return tls.current().key.toString();
    },
  };
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
      ...(certificates && { tls: certificates }),
    });

  const follow = async (followed: Open): Promise<void> => {
    for await (const { type } of followed.connection.status()) {
      if (type === Events.Disconnect) {
        if (followed.up && followed === link) logger.warn("NATS connection lost; will reconnect");
        followed.up = false;
      } else if (type === Events.Reconnect) {
        followed.up = true;
        if (followed === link) logger.info("NATS reconnected");
      }
    }
  };
  /** Leaves a connection to those who still use it, for a time. */
  const retire = (connection: NatsConnection): void => {
    for (const older of [...replaced].slice(0, -MAX_REPLACED + 1)) void older.close().catch(() => undefined);
    replaced.add(connection);
    setTimeout(() => {
      replaced.delete(connection);
      void connection.drain().catch(() => connection.close().catch(() => undefined));
    }, REPLACED_MS).unref();
  };

  const run = async (): Promise<void> => {
    let isReported = false;
    while (!stop.signal.aborted) {
      const change = Promise.withResolvers<"changed">();
      const forget = tls?.onChange(() => change.resolve("changed"));
      try {
        const connection = await open();
        const made = { connection, up: true };
        if (link !== undefined && !link.connection.isClosed()) {
          retire(link.connection);
          logger.info("connected to NATS with changed certificates");
        }
        link = made;
        isReported = false;
        if (stop.signal.aborted) return;
        // Not awaited: the iterator of a connection's states does not end when the connection is closed.
        void follow(made).catch(() => undefined);
        const ended = await Promise.race([connection.closed().then((err) => ({ err })), change.promise]);
        if (ended === "changed") continue;
        made.up = false;
        if (!stop.signal.aborted) logger.error({ err: ended.err }, "NATS closed the connection; will reconnect");
      } catch (err) {
        if (!isReported) logger.warn({ err }, "cannot connect to NATS; will retry");
        isReported = true;
      } finally {
        forget?.();
      }
      await sleepUntil(RETRY_MS, [stop.signal]);
    }
  };
  const finished = run();
  const current = () => (link?.up && !link.connection.isClosed() ? link.connection : undefined);

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
        if (current() !== undefined) await inTime(link?.connection.flush(), FLUSH_MS);
        for (const connection of replaced) void connection.close().catch(() => undefined);
        await link?.connection.close().catch(() => undefined);
        await finished;
        await link?.connection.close().catch(() => undefined);
      };
      // A stop must not wait for the library to finish; unmarked rows are published again.
      if (!(await inTime(closed(), CLOSE_MS))) logger.warn("NATS did not close in time");
    },
  };
}
