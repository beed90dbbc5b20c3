import { AppError } from "@countersign/core";
import type { AnswersMessage } from "./answer-items.ts";
import { callerWentAway, isAnyAborted } from "./cancellation.ts";
import { InFlight } from "./in-flight.ts";
import { takeMessage } from "./message-size.ts";

/** Opens a bidirectional stream: messages of several items go out, messages of several answers come back. */
export type OpenStream<Item, Answer> = (
  messages: AsyncIterable<Item[]>,
  signal: AbortSignal,
) => AsyncIterable<AnswersMessage<Answer>>;

export interface CoalescerOptions<Item, Answer> {
  open: OpenStream<Item, Answer>;
  /** Returns about how many bytes an item has in a message. */
  bytesOf(item: Omit<Item, "id">): number;
  /** Writes into an item that is being sent how many milliseconds are left until its deadline. */
  setTimeLeft?(item: Omit<Item, "id">, leftMs: number): void;
}

/** Sends items over one long-lived stream, those of one turn of the event loop in one message. */
export interface Coalescer<Item, Answer> {
  /**
   * Errors: DeadlineExceeded, Unavailable, those of the stream. The coalescer never sends an item again that
   * the other side may have read. An item that was certainly not read goes on another stream, until its
   * deadline. An item with an aborted signal is rejected when its turn to be sent comes.
   */
  send(item: Omit<Item, "id">, deadlineMs: number, signals?: readonly AbortSignal[]): Promise<Answer>;
  /** Opens a new stream for the items to come. */
  renew(): void;
  close(): void;
}

interface Numbered {
  id: number;
}

interface Entry<Item, Answer> {
  /** The number on its lane; 0 before it has one. */
  id: number;
  item: Omit<Item, "id">;
  deadline: number;
  signals: readonly AbortSignal[];
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Milliseconds between looks for late items and old streams. */
const SWEEP_MS = 100;
/** A stream that ends sooner was never open: its server cannot be reached. */
const MIN_OPEN_MS = 100;
/** A stream is replaced after so many milliseconds by a new one, which may reach another replica. */
const MAX_AGE_MS = 10_000;
/** A stream is cancelled so many milliseconds after MAX_AGE_MS, whether it has answered its items or not. */
const GRACE_MS = 30_000;

/** One stream of a coalescer, from its first item to its last answer. */
class Lane<Item extends Numbered, Answer extends Numbered> {
  readonly openedAt = performance.now();
  readonly #options: CoalescerOptions<Item, Answer>;
  readonly #outgoing: Entry<Item, Answer>[] = [];
  readonly #unanswered = new InFlight<Entry<Item, Answer>>();
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;
  #ending = false;

  constructor(options: CoalescerOptions<Item, Answer>) {
    this.#options = options;
  }

  /**
   * `again` receives the items that the other side certainly did not read. If the other side ended the stream
   * without an error, these are all that wait, since it has answered all that it read (answer-items.ts). If
   * the stream broke, these are only the items that were not handed to grpc-js; any other may have been read.
   */
  run(again: (entry: Entry<Item, Answer>) => void, stopped: () => void, ended: () => void): void {
    const leave = (readUntil: number): void => {
      stopped();
      for (const entry of this.#takeUnread(readUntil)) again(entry);
    };
    void this.#read(leave).then(
      () => {
        ended();
        for (const entry of this.#unanswered.all()) again(entry);
      },
      (error: unknown) => {
        ended();
        // A stream that was never open would fail again at once: then the caller must get the error.
        const wasUp = performance.now() - this.openedAt > MIN_OPEN_MS;
        const unsent = new Set(this.#outgoing.map(({ id }) => id));
        for (const entry of this.#unanswered.all()) {
          if (wasUp && unsent.has(entry.id)) again(entry);
          else entry.reject(error);
        }
      },
    );
  }

  add(entry: Entry<Item, Answer>): void {
    this.#unanswered.add(entry);
    this.#outgoing.push(entry);
    // The first item of a turn wakes the sender at the turn's end, with all that were added meanwhile.
    if (this.#outgoing.length === 1) setImmediate(() => this.#wake?.());
  }

  /** Ends the stream after the queued items, which are still answered; the caller adds none any more. */
  end(): void {
    this.#ending = true;
    this.#wake?.();
  }

  cancel(): void {
    this.#abort.abort();
  }

  /** Rejects items that have waited too long. Returns whether there were any. */
  expire(now: number): boolean {
    let any = false;
    for (const entry of this.#unanswered.all()) {
      if (entry.deadline > now) continue;
      this.#unanswered.take(entry.id);
      entry.reject(new AppError("DeadlineExceeded"));
      any = true;
    }
    return any;
  }

  async #read(leave: (readUntil: number) => void): Promise<void> {
    for await (const { answers, readUntil = 0 } of this.#options.open(this.#messages(), this.#abort.signal)) {
      for (const answer of answers) this.#unanswered.take(answer.id)?.resolve(answer);
      if (readUntil > 0) leave(readUntil);
    }
  }

  #takeUnread(readUntil: number): Entry<Item, Answer>[] {
    this.#outgoing.length = 0;
    const unread = this.#unanswered.all().filter(({ id }) => id > readUntil);
    for (const { id } of unread) this.#unanswered.take(id);
    return unread;
  }

  /**
   * Yields messages at the pace of grpc-js, which asks for the next one when it can take more: an item that
   * is still in #outgoing was never handed over.
   */
  async *#messages(): AsyncGenerator<Item[]> {
    for (;;) {
      if (this.#outgoing.length > 0) {
        const items = this.#takeItems();
        if (items.length > 0) yield items;
      } else if (this.#ending) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  /** Takes the next message, without items that nobody waits for any more. */
  #takeItems(): Item[] {
    const { bytesOf, setTimeLeft } = this.#options;
    const now = performance.now();
    const items: Item[] = [];
    for (const entry of takeMessage(this.#outgoing, ({ item }) => bytesOf(item))) {
      const { id, item, deadline, signals } = entry;
      // The sweep rejects what has waited too long.
      if (deadline <= now) continue;
      if (isAnyAborted(signals)) {
        this.#unanswered.take(id)?.reject(callerWentAway());
        continue;
      }
      setTimeLeft?.(item, deadline - now);
      items.push({ ...item, id } as Item);
    }
    return items;
  }
}

/**
 * Creates a coalescer: a unary RPC costs several times as much as a message of a stream
 * (docs/performance.md). The stream is replaced when it is old, when it broke, and when an answer was late.
 */
export function createCoalescer<Item extends Numbered, Answer extends Numbered>(
  options: CoalescerOptions<Item, Answer>,
): Coalescer<Item, Answer> {
  const lanes = new Set<Lane<Item, Answer>>();
  let current: Lane<Item, Answer> | undefined;
  let sweeping: NodeJS.Timeout | undefined;
  let closed = false;

  const retire = (lane: Lane<Item, Answer>) => {
    if (current === lane) current = undefined;
    lane.end();
  };
  const sweep = () => {
    const now = performance.now();
    for (const lane of lanes) {
      // A replica that did not answer in time may be stalled: the next items go elsewhere.
      if (lane.expire(now)) retire(lane);
      if (now - lane.openedAt > MAX_AGE_MS) retire(lane);
      if (now - lane.openedAt > MAX_AGE_MS + GRACE_MS) lane.cancel();
    }
    if (lanes.size > 0) return;
    clearInterval(sweeping);
    sweeping = undefined;
  };
  const currentLane = (): Lane<Item, Answer> => {
    if (current !== undefined) return current;
    const opened = new Lane<Item, Answer>(options);
    current = opened;
    lanes.add(opened);
    sweeping ??= setInterval(sweep, SWEEP_MS).unref();
    opened.run(
      enqueue,
      () => retire(opened),
      () => {
        retire(opened);
        lanes.delete(opened);
      },
    );
    return opened;
  };
  const enqueue = (entry: Entry<Item, Answer>): void => {
    if (closed) entry.reject(new AppError("Unavailable"));
    else if (isAnyAborted(entry.signals)) entry.reject(callerWentAway());
    else if (entry.deadline <= performance.now()) entry.reject(new AppError("DeadlineExceeded"));
    else currentLane().add(entry);
  };

  return {
    send: (item, deadlineMs, signals = []) =>
      new Promise((resolve, reject) => {
        enqueue({ id: 0, item, deadline: performance.now() + deadlineMs, signals, resolve, reject });
      }),
    renew() {
      if (current !== undefined) retire(current);
    },
    close() {
      closed = true;
      clearInterval(sweeping);
      for (const each of lanes) {
        each.end();
        each.cancel();
      }
    },
  };
}
