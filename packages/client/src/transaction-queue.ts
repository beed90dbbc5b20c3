import type { ProposalKey } from "@countersign/flow";
import type { CountersignClient } from "./countersign-client.ts";
import { holdLock, unlessAborted } from "./locks.ts";

/** One transaction's time at the head of the queue. */
export interface Turn {
  /** The account, with 0x. */
  readonly address: string;
  /** Lets the next one begin; at the latest when this one's work ends. */
  release(): void;
  /** The next sequence number of a key: the chain's, or a higher one that this client knows of already. */
  next(key: ProposalKey): bigint;
  /** Notes a key's next sequence number. */
  note(key: ProposalKey): void;
}

/** The place of a turn. */
export interface TurnOptions {
  chainName: string;
  /** Finds the account; called when the client's earlier transactions have had their turns. */
  address: () => Promise<string>;
  signal: AbortSignal | undefined;
}

/** The state of a client's transactions on one chain. */
interface ClientQueue {
  /** Its last turn. */
  tail: Promise<void> | undefined;
  /** The keys' next sequence numbers: nodes may lag behind what was seen executed. */
  readonly next: Map<string, bigint>;
}

const queues = new WeakMap<CountersignClient, Map<string, ClientQueue>>();

function queueOf(client: CountersignClient, chainName: string): ClientQueue {
  const ofClient = queues.get(client) ?? new Map<string, ClientQueue>();
  queues.set(client, ofClient);
  const queue = ofClient.get(chainName) ?? { tail: undefined, next: new Map() };
  ofClient.set(chainName, queue);
  return queue;
}

const nameOf = ({ address, keyId }: ProposalKey): string => `${address}/${keyId}`;

/**
 * Runs what consumes sequence numbers of an account one after another: two transactions that are built at
 * once would carry the same number, and the chain would run only one of them. A client's are in the order of
 * its calls; those of other clients and, with Web Locks, of other tabs wait for the account's lock.
 * An abort while the work waits for its turn ends it without having begun it.
 */
export async function inTurn<Result>(
  client: CountersignClient,
  { chainName, address, signal }: TurnOptions,
  work: (turn: Turn) => Promise<Result>,
): Promise<Result> {
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  const queue = queueOf(client, chainName);
  const previous = queue.tail;
  queue.tail = (previous ?? Promise.resolve()).then(() => done);
  try {
    await unlessAborted(previous, signal);
    const account = await address();
    await holdLock(client.locks, `countersign-transactions/${chainName}/${account}`, done, signal);
    return await work({
      address: account,
      release,
      next(key) {
        const noted = queue.next.get(nameOf(key)) ?? 0n;
        return noted > key.sequenceNumber ? noted : key.sequenceNumber;
      },
      note: (key) => void queue.next.set(nameOf(key), key.sequenceNumber),
    });
  } finally {
    release();
  }
}
