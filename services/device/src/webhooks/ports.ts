/** The queue of an account's messages to one endpoint, which a process has leased. */
export interface LeasedQueue {
  readonly accountId: string;
  readonly endpoint: string;
  /** When others may take it; also names the lease. */
  readonly leasedUntil: Date;
}

export interface StoredDelivery {
  readonly eventId: string;
  readonly body: string;
  /** Failed ones so far. */
  readonly attempts: number;
  /** After this time a failure is the last one. */
  readonly giveUpAt: Date;
}

export interface NewDelivery {
  readonly eventId: string;
  readonly accountId: string;
  readonly endpoints: readonly string[];
  readonly type: string;
  readonly body: string;
  readonly now: Date;
}

/** Selects the messages of an endpoint to send again: one, or those of a time. */
interface ReplayOf {
  readonly endpoint: string;
  readonly eventId?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly deadOnly: boolean;
  /** By default now: what the replay has let be sent, and has ended since, is not chosen again. */
  readonly endedBefore?: Date;
}

/** The messages that wait at an endpoint. */
export interface EndpointState {
  readonly endpoint: string;
  /** At most 10,000 are counted. */
  readonly waiting: number;
  readonly dead: number;
  readonly oldestAt: Date | undefined;
  readonly lastError: string;
}

/** Keeps messages and the queues of their accounts. The database decides between replicas. */
export interface WebhookStore {
  /** Adds a message to the account's queues. A repetition changes nothing. */
  add(delivery: NewDelivery): Promise<void>;
  /** Leases queues of an endpoint that are due. */
  lease(endpoint: string, limit: number, now: Date, until: Date): Promise<LeasedQueue[]>;
  /** The first waiting message of a queue: later ones wait for its end. */
  first(queue: LeasedQueue): Promise<StoredDelivery | undefined>;
  /** Records that a message arrived, or is given up. */
  end(queue: LeasedQueue, eventId: string, state: "delivered" | "dead", result: string, now: Date): Promise<void>;
  /** Records a failure, and lets the queue wait. */
  retry(queue: LeasedQueue, eventId: string, result: string, dueAt: Date): Promise<void>;
  /** Gives the lease back: deletes the queue where nothing waits, otherwise it is due at once. */
  release(queue: LeasedQueue, now: Date): Promise<void>;
  /** Lets the oldest messages that have ended be sent again. `nextFrom`: where to go on, if any are left. */
  replay(of: ReplayOf, now: Date): Promise<{ replayed: number; nextFrom: Date | undefined }>;
  states(endpoints: readonly string[]): Promise<EndpointState[]>;
  /** Deletes what has been kept long enough. Returns whether rows may be left. */
  forget(now: Date): Promise<boolean>;
}
