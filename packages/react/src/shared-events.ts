import type { AccountEvent, CountersignClient } from "@countersign/client";

type Listener = (event: AccountEvent) => void;

/** The part of a client that is needed. */
type Source = Pick<CountersignClient, "events" | "session">;

/**
 * One stream of a client's events for many listeners. It is open while it is connected, the session is, and
 * somebody listens.
 */
export class SharedEvents {
  readonly #client: Source;
  readonly #listeners = new Set<Listener>();
  #isConnected = false;
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

  #update(): void {
    const { state } = this.#client.session;
    const isWanted = this.#isConnected && this.#listeners.size > 0 && (state === "signed-in" || state === "frozen");
    if (!isWanted) {
      this.#open?.abort();
      this.#open = undefined;
    } else if (!this.#open) {
      this.#open = new AbortController();
      void this.#follow(this.#open);
    }
  }

  async #follow(open: AbortController): Promise<void> {
    try {
      for await (const event of this.#client.events({ signal: open.signal })) {
        for (const listener of [...this.#listeners]) listener(event);
      }
    } catch {
      // The session is over: its state says so, and the next session opens the stream again.
    }
    if (this.#open === open) this.#open = undefined;
  }
}
