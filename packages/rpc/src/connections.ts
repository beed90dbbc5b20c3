import type { Client } from "@grpc/grpc-js";

/** Milliseconds after which calls go to a new client, which has resolved the callee's name again. */
const REPLACE_AFTER_MS = 20_000;
/** Milliseconds that a new client has to connect. */
const CONNECT_MS = 5_000;

interface Entry {
  readonly client: Client;
  since: number;
  calls: number;
}

/** A client for one call or stream; `release` gives it back when that has ended. */
export interface BorrowedClient {
  readonly client: Client;
  release(): void;
}

/** The gRPC clients of one address, of which the newest takes the calls. */
export interface Connections {
  take(): BorrowedClient;
  close(): void;
}

/**
 * Keeps calls on the replicas that the callee's name has now: gRPC resolves a name again only when a
 * connection is lost, so a new replica would get no calls. An old client is replaced when the new one has
 * connected, and closed when its last call has ended. A connection that the server ends instead (its maximum
 * age) loses the calls on it: Node cannot ping it any more, and grpc-js then drops it.
 */
export function createConnections(open: () => Client, replaceAfterMs = REPLACE_AFTER_MS): Connections {
  const entries = new Set<Entry>();
  let next: Client | undefined;
  let closed = false;

  const add = (client: Client): Entry => {
    const entry = { client, since: performance.now(), calls: 0 };
    entries.add(entry);
    return entry;
  };
  let current = add(open());

  const closeIfUnused = (entry: Entry): void => {
    if (entry === current || entry.calls > 0 || !entries.delete(entry)) return;
    entry.client.close();
  };
  const replace = (): void => {
    const client = open();
    next = client;
    client.waitForReady(Date.now() + CONNECT_MS, (error) => {
      next = undefined;
      if (closed || error) {
        client.close();
        // The next attempt has its own time.
        current.since = performance.now();
        return;
      }
      const before = current;
      current = add(client);
      closeIfUnused(before);
    });
  };

  return {
    take() {
      if (next === undefined && !closed && performance.now() - current.since > replaceAfterMs) replace();
      const entry = current;
      let released = false;
      entry.calls += 1;
      return {
        client: entry.client,
        release() {
          if (released) return;
          released = true;
          entry.calls -= 1;
          closeIfUnused(entry);
        },
      };
    },
    close() {
      closed = true;
      for (const { client } of entries) client.close();
      next?.close();
    },
  };
}
