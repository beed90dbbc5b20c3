import { AppError } from "@countersign/core";
import { InFlight } from "./in-flight.ts";
import { takeMessage } from "./message-size.ts";

/** Opens a bidirectional stream: messages of several items go out, messages of several answers come back. */
export type OpenStream<Item, Answer> = (
  messages: AsyncIterable<Item[]>,
  signal: AbortSignal,
) => AsyncIterable<readonly Answer[]>;

export interface CoalescerOptions<Item, Answer> {
  open: OpenStream<Item, Answer>;
  /** Returns about how many bytes an item has in a message. */
  bytesOf(item: Item): number;
  /** Returns an item as it is sent again, with so many milliseconds left until its deadline. */
  forResend?: (item: Omit<Item, "id">, leftMs: number) => Omit<Item, "id">;
}

/** Sends items over one long-lived stream, those of one turn of the event loop in one message. */
export interface Coalescer<Item, Answer> {
  /**
   * Errors: DeadlineExceeded, Unavailable, those of the stream. The coalescer never sends an item again that
   * the other side may have read. An item that was certainly not read goes on another stream, until its
   * deadline.
   */
  send(item: Omit<Item, "id">, deadlineMs: number): Promise<Answer>;
  close(): void;
}

interface Numbered {
  id: number;
}

interface Waiting<Item, Answer> {
  /** The number on its lane; 0 before it has one. */
  id: number;
  item: Omit<Item, "id">;
  deadline: number;
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
  readonly #bytesOf: (item: Item) => number;
  readonly #outgoing: Item[] = [];
  readonly #waiting = new InFlight<Waiting<Item, Answer>>();
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;
  #ending = false;

  constructor(bytesOf: (item: Item) => number) {
    this.#bytesOf = bytesOf;
  }

  /**
   * `again` receives the items that the other side certainly did not read. If the other side ended the stream
   * without an error, these are all that wait, since it has answered all that it read (answer-items.ts). If
   * the stream broke, these are only the items that were not handed to grpc-js; any other may have been read.
   */
  run(open: OpenStream<Item, Answer>, again: (waiting: Waiting<Item, Answer>) => void, ended: () => void): void {
    void this.#read(open).then(
      () => {
        ended();
        for (const waiting of this.#waiting.all()) again(waiting);
      },
      (error: unknown) => {
        ended();
        // A stream that was never open would fail again at once: then the caller must get the error.
        const wasUp = performance.now() - this.openedAt > MIN_OPEN_MS;
        const unsent = new Set(this.#outgoing.map(({ id }) => id));
        for (const waiting of this.#waiting.all()) {
          if (wasUp && unsent.has(waiting.id)) again(waiting);
          else waiting.reject(error);
        }
      },
    );
  }

  add(waiting: Waiting<Item, Answer>): void {
    const id = this.#waiting.add(waiting);
    this.#outgoing.push({ ...waiting.item, id } as Item);
    // The first item of a turn wakes the sender at the turn's end, with all that were added meanwhile.
    if (this.#outgoing.length === 1) setImmediate(() => this.#wake?.());
  }

  /** Takes no further items; waiting ones are still answered. */
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
    for (const waiting of this.#waiting.all()) {
      if (waiting.deadline > now) continue;
      this.#waiting.take(waiting.id);
      waiting.reject(new AppError("DeadlineExceeded"));
      any = true;
    }
    return any;
  }

  async #read(open: OpenStream<Item, Answer>): Promise<void> {
    for await (const answers of open(this.#messages(), this.#abort.signal)) {
      for (const answer of answers) this.#waiting.take(answer.id)?.resolve(answer);
    }
  }

  /**
   * Yields messages at the pace of grpc-js, which asks for the next one when it can take more: an item that
   * is still in #outgoing was never handed over.
   */
  async *#messages(): AsyncGenerator<Item[]> {
    for (;;) {
      if (this.#outgoing.length > 0) yield takeMessage(this.#outgoing, this.#bytesOf);
      else if (this.#ending) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

/**
 * Creates a coalescer: a unary RPC costs several times as much as a message of a stream
 * (docs/performance.md). The stream is replaced when it is old, when it broke, and when an answer was late.
 */
export function createCoalescer<Item extends Numbered, Answer extends Numbered>(
  options: CoalescerOptions<Item, Answer>,
): Coalescer<Item, Answer> {
  const { open, bytesOf } = options;
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
  const lane = (): Lane<Item, Answer> => {
    if (current !== undefined) return current;
    const opened = new Lane<Item, Answer>(bytesOf);
    current = opened;
    lanes.add(opened);
    sweeping ??= setInterval(sweep, SWEEP_MS).unref();
    opened.run(open, resend, () => {
      retire(opened);
      lanes.delete(opened);
    });
    return opened;
  };
  const resend = (waiting: Waiting<Item, Answer>): void => {
    const leftMs = waiting.deadline - performance.now();
    if (options.forResend && leftMs > 0) waiting.item = options.forResend(waiting.item, leftMs);
    enqueue(waiting);
  };
  const enqueue = (waiting: Waiting<Item, Answer>): void => {
    if (closed) waiting.reject(new AppError("Unavailable"));
    else if (waiting.deadline <= performance.now()) waiting.reject(new AppError("DeadlineExceeded"));
    else lane().add(waiting);
  };

  return {
    send: (item, deadlineMs) =>
      new Promise((resolve, reject) => {
        enqueue({ id: 0, item, deadline: performance.now() + deadlineMs, resolve, reject });
      }),
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
