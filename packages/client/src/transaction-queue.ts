import type { ProposalKey } from "@countersign/flow";
import type { CountersignClient } from "./countersign-client.ts";

/** One transaction's time at the head of the queue. */
export interface Turn {
  /** Lets the next one begin; at the latest when this one's work ends. */
  release(): void;
  /** The next sequence number of a key: the chain's, or a higher one that this queue knows of already. */
  next(key: ProposalKey): bigint;
  /** Notes a key's next sequence number. */
  note(key: ProposalKey): void;
}

/**
 * Runs what consumes sequence numbers one after another, in the order of the calls: two transactions that are
 * built at once would carry the same number, and the chain would run only one of them.
 */
class TransactionQueue {
  #tail: Promise<void> = Promise.resolve();
  /** Nodes may lag behind what was seen executed. */
  readonly #next = new Map<string, bigint>();

  /** An abort while the work waits for its turn ends it without having begun it. */
  async run<Result>(work: (turn: Turn) => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    const { promise: done, resolve: release } = Promise.withResolvers<void>();
    const previous = this.#tail;
    this.#tail = previous.then(() => done);
    try {
      await unlessAborted(previous, signal);
      return await work({ release, next: (key) => this.#nextOf(key), note: (key) => this.#note(key) });
    } finally {
      release();
    }
  }

  #nextOf(key: ProposalKey): bigint {
    const known = this.#next.get(nameOf(key)) ?? 0n;
    return known > key.sequenceNumber ? known : key.sequenceNumber;
  }

  #note(key: ProposalKey): void {
    this.#next.set(nameOf(key), key.sequenceNumber);
  }
}

/** By client and chain. */
const queues = new WeakMap<CountersignClient, Map<string, TransactionQueue>>();

/** Returns the queue of a client's transactions on one chain. */
export function queueOf(client: CountersignClient, chainName: string): TransactionQueue {
  const ofClient = queues.get(client) ?? new Map<string, TransactionQueue>();
  queues.set(client, ofClient);
  const queue = ofClient.get(chainName) ?? new TransactionQueue();
  ofClient.set(chainName, queue);
  return queue;
}

const nameOf = ({ address, keyId }: ProposalKey): string => `${address}/${keyId}`;

async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  if (!signal) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
