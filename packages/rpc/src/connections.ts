import type { Client } from "@grpc/grpc-js";

/** Milliseconds after which calls go to a new client, which has resolved the callee's name again. */
const REPLACE_AFTER_MS = 20_000;
/** Milliseconds that a new client has to connect. */
const CONNECT_MS = 5_000;
/** Milliseconds until a connection with a new certificate is tried again. */
const RENEW_AGAIN_MS = 1_000;
/**
 * Milliseconds for which streams stay on connections with an old certificate, and up to as many more, so that
 * they do not all come again at once.
 */
const MOVE_STREAMS_MS = 60_000;

interface Entry {
  readonly client: Client;
  /** The number of removals of a CA before it was opened. */
  readonly generation: number;
  since: number;
  calls: number;
  /** Aborts when its streams must end. */
  readonly tooOld: AbortController;
}

/** A client for one call or stream; `release` gives it back when that has ended. */
export interface BorrowedClient {
  readonly client: Client;
  /** Ends a stream on it, whose certificates are no longer those in use. */
  readonly tooOld: AbortSignal;
  release(): void;
}

/** The gRPC clients of one address, of which the newest takes the calls. */
export interface Connections {
  take(): BorrowedClient;
  /** Calls `listener` each time that calls begin to go to a client with new certificates. */
  onRenewed(listener: () => void): void;
  /**
   * Replaces the clients, because the certificates have changed; tries until the callee accepts them. With
   * `mustLeave`, no older client is used after a time: the callee may have been verified by a removed CA.
   */
  renew(mustLeave?: boolean): void;
  close(): void;
}

/**
 * Keeps calls on the replicas that the callee's name has now: gRPC resolves a name again only when a
 * connection is lost, so a new replica would get no calls. An old client is replaced when the new one has
 * connected, and closed when its last call has ended. A connection that the server ends instead (its maximum
 * age) loses the calls on it: Node cannot ping it any more, and grpc-js then drops it.
 */
export function createConnections(
  open: () => Client,
  replaceAfterMs = REPLACE_AFTER_MS,
  moveStreamsMs = MOVE_STREAMS_MS,
): Connections {
  const entries = new Set<Entry>();
  const listeners = new Set<() => void>();
  let next: Client | undefined;
  let closed = false;
  /** The certificates have changed since `next`, or without one `current`, was opened. */
  let isOutdated = false;
  let isUsed = false;

  let generation = 0;
  const add = (client: Client, openedIn = generation): Entry => {
    const entry = { client, generation: openedIn, since: performance.now(), calls: 0, tooOld: new AbortController() };
    entries.add(entry);
    return entry;
  };
  let current = add(open());

  const closeIfUnused = (entry: Entry): void => {
    if (entry === current || entry.calls > 0 || !entries.delete(entry)) return;
    entry.client.close();
  };
  const moveStreams = (): void => {
    const older = [...entries].filter((entry) => entry !== current);
    const ms = moveStreamsMs * (1 + Math.random());
    setTimeout(() => {
      for (const { tooOld } of older) tooOld.abort();
    }, ms).unref();
  };
  const replace = (): void => {
    const client = open();
    const openedIn = generation;
    const renews = isOutdated;
    next = client;
    isOutdated = false;
    client.waitForReady(Date.now() + CONNECT_MS, (error) => {
      next = undefined;
      if (closed || error) {
        client.close();
        // The next attempt has its own time.
        current.since = performance.now();
        isOutdated ||= renews;
      } else {
        const before = current;
        current = add(client, openedIn);
        closeIfUnused(before);
        if (renews) {
          for (const listener of listeners) listener();
          moveStreams();
        }
      }
      if (isOutdated) setTimeout(() => void (isOutdated && renew()), RENEW_AGAIN_MS).unref();
    });
  };
  /** Ends all that was opened before a removal: calls fail until the CAs in use verify the callee. */
  const leave = (before: number): void => {
    if (closed) return;
    const older = [...entries].filter((entry) => entry.generation < before);
    if (older.includes(current)) current = add(open());
    for (const entry of older) {
      entry.tooOld.abort();
      entries.delete(entry);
      entry.client.close();
    }
  };
  function renew(mustLeave = false): void {
    // A client that was never used has no connection; it makes its first one with the new certificates.
    if (closed || !isUsed) return;
    isOutdated = true;
    if (mustLeave) {
      generation += 1;
      setTimeout(leave, 2 * moveStreamsMs, generation).unref();
    }
    if (next === undefined) replace();
  }

  return {
    onRenewed: (listener) => void listeners.add(listener),
    take() {
      isUsed = true;
      if (next === undefined && !closed && performance.now() - current.since > replaceAfterMs) replace();
      const entry = current;
      let released = false;
      entry.calls += 1;
      return {
        client: entry.client,
        tooOld: entry.tooOld.signal,
        release() {
          if (released) return;
          released = true;
          entry.calls -= 1;
          closeIfUnused(entry);
        },
      };
    },
    renew,
    close() {
      closed = true;
      for (const { client } of entries) client.close();
      next?.close();
    },
  };
}
