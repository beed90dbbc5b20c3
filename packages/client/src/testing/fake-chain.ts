import {
  type AccessApi,
  type ChainKey,
  type FlowTransaction,
  type TransactionResult,
  throwIfAborted,
  transactionId,
} from "@countersign/flow";

const PENDING: TransactionResult = { status: "Pending", statusCode: 0, errorMessage: "", blockId: "", events: [] };

/**
 * A chain with one account's keys, which checks and counts sequence numbers as Flow does. It runs what is
 * submitted at once, or, while `paused`, when `run` is called.
 */
export class FakeChain {
  paused = false;
  /** Ids in the order in which they ran; transactions with a wrong sequence number do not run. */
  readonly ran: string[] = [];
  readonly submitted: FlowTransaction[] = [];
  readonly keys: ChainKey[];
  /** The effect of a transaction once it has used its sequence number; returns its error, or "". */
  execute: (transaction: FlowTransaction) => string = () => "";
  readonly #results = new Map<string, TransactionResult>();
  #waiting: (() => void)[] = [];

  constructor(keys: readonly Partial<ChainKey>[]) {
    this.keys = keys.map((key, index) => ({
      index,
      publicKey: "",
      signatureAlgorithm: "ECDSA_P256",
      hashAlgorithm: "SHA2_256",
      weight: 1,
      sequenceNumber: 5n,
      revoked: false,
      ...key,
    }));
  }

  /** Uses up a key's sequence number, as a transaction of somebody else does. */
  useNumber(index: number): void {
    this.keys[index] = { ...this.keys[index]!, sequenceNumber: this.keys[index]!.sequenceNumber + 1n };
  }

  /** Runs what was submitted while the chain was paused. */
  run(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const work of waiting) work();
  }

  submit(transaction: FlowTransaction): string {
    const id = transactionId(transaction);
    this.submitted.push(transaction);
    if (this.#results.has(id)) return id;
    this.#results.set(id, PENDING);
    const work = () => this.#run(id, transaction);
    if (this.paused) this.#waiting.push(work);
    else work();
    return id;
  }

  /** Changes the chain's answer for a transaction that was submitted. */
  answer(id: string, change: Partial<TransactionResult>): void {
    this.#results.set(id, { ...this.#results.get(id)!, ...change });
  }

  #run(id: string, transaction: FlowTransaction): void {
    const { keyId, sequenceNumber } = transaction.proposalKey;
    const expected = this.keys[keyId]!.sequenceNumber;
    let errorMessage = "";
    if (expected !== sequenceNumber) {
      errorMessage =
        "[Error Code: 1007] error caused by: 1 error occurred:\n\t* transaction verification failed: [Error Code: 1007] " +
        `invalid proposal key: public key ${keyId} on account x has sequence number ${expected}, but given ${sequenceNumber}\n`;
    } else {
      this.useNumber(keyId);
      this.ran.push(id);
      errorMessage = this.execute(transaction);
    }
    const statusCode = errorMessage === "" ? 0 : 1;
    this.#results.set(id, { ...PENDING, status: "Sealed", statusCode, errorMessage });
  }

  /** Returns the calls of an access node that the client uses. */
  access(change: Partial<AccessApi> = {}): AccessApi {
    const chain = this;
    const api: Partial<AccessApi> = {
      latestSealedBlock: async () => ({ id: "cd".repeat(32), height: 9n, time: new Date(0) }),
      accountKeys: async () => [...chain.keys],
      submit: async (transaction) => chain.submit(transaction),
      transactionResult: async (id) => chain.#results.get(id),
      async waitForSeal(id, { signal, onExecuted }) {
        for (;;) {
          throwIfAborted(signal);
          const result = chain.#results.get(id);
          if (result?.status === "Sealed" || result?.status === "Expired") {
            onExecuted?.(result);
            return result;
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
      },
      ...change,
    };
    return api as AccessApi;
  }
}
