import type { AccountEvent, CountersignClient } from "@countersign/client";
import { reportError } from "./report-error.ts";

type Listener = (event: AccountEvent) => void;

/** An app's own listener that fails takes the events from nobody else. */
function call(listener: Listener, event: AccountEvent): void {
  try {
    listener(event);
  } catch (error) {
    reportError(error);
  }
}

/** The part of a client that is needed. */
type Source = Pick<CountersignClient, "events" | "session">;

/**
 * One stream of a client's events for many listeners. It is open while it is connected, the session is, and
 * somebody listens.
 */
export class SharedEvents {
  readonly #client: Source;
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  #isConnected = false;
  #isLive = false;
  #open: AbortController | undefined;

  constructor(client: Source) {
    this.#client = client;
  }

  /** Opens the stream whenever it is needed, until the returned function is called. */
  connect(): () => void {
    this.#isConnected = true;
    const stop = this.#client.session.subscribe(() => this.#update());
    this.#update();
    return () => {
      stop();
      this.#isConnected = false;
      this.#update();
    };
  }

  /** Calls `listener` with each event from now on, until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#update();
    return () => {
      this.#listeners.delete(listener);
      this.#update();
    };
  }

  /** Whether the stream is connected to the server. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Calls `watcher` whenever `isLive` changes, until the returned function is called. */
  readonly watch = (watcher: () => void): (() => void) => {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  };

  #update(): void {
    const { state } = this.#client.session;
    const isWanted = this.#isConnected && this.#listeners.size > 0 && (state === "signed-in" || state === "frozen");
    if (!isWanted) {
      this.#open?.abort();
      this.#open = undefined;
      this.#setLive(false);
    } else if (!this.#open) {
      this.#open = new AbortController();
      void this.#follow(this.#open);
    }
  }

  #setLive(isLive: boolean): void {
    if (this.#isLive === isLive) return;
    this.#isLive = isLive;
    for (const watcher of [...this.#watchers]) watcher();
  }

  async #follow(open: AbortController): Promise<void> {
    // The end of a stream that another one has replaced says nothing of that one.
    const onConnection = (isConnected: boolean) => this.#open === open && this.#setLive(isConnected);
    try {
      for await (const event of this.#client.events({ signal: open.signal, onConnection })) {
        for (const listener of [...this.#listeners]) call(listener, event);
      }
    } catch {
      // The session is over: its state says so, and the next session opens the stream again.
    }
    if (this.#open === open) this.#open = undefined;
  }
}
