import type { ProposalKey } from "../codec/transaction.ts";

/** A block of the chain. */
export interface Block {
  /** 64 hex digits. */
  readonly id: string;
  /** Its number. */
  readonly height: bigint;
  /** The time that the block states. */
  readonly time: Date;
}

/** A key of an account, as an access node shows it. */
export interface ChainKey {
  /** Its index in the account; it never changes. */
  readonly index: number;
  /** 128 hex digits. */
  readonly publicKey: string;
  /** `ECDSA_P256` or `ECDSA_secp256k1`. */
  readonly signatureAlgorithm: string;
  /** `SHA2_256` or `SHA3_256`. */
  readonly hashAlgorithm: string;
  /** 1000 together are needed to sign. */
  readonly weight: number;
  /** The number of transactions that the key has proposed. */
  readonly sequenceNumber: bigint;
  /** A revoked key signs nothing more, and is never active again. */
  readonly revoked: boolean;
}

/** An event that a transaction emitted. */
export interface ChainEvent {
  /** Such as `flow.AccountCreated`, or `A.<address>.<contract>.<event>`. */
  readonly type: string;
  /** 64 hex digits. */
  readonly transactionId: string;
  /** Its place among the events of its transaction, where the node gave it. */
  readonly index?: number;
  /** The height of its block, where events were queried by height. */
  readonly height?: bigint;
  /** The event's fields as plain data; see readCadence. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The result of a transaction so far. */
export interface TransactionResult {
  /** `Sealed` is final; `Executed` has a result already. */
  readonly status: "Unknown" | "Pending" | "Finalized" | "Executed" | "Sealed" | "Expired";
  /** 0: executed without error. */
  readonly statusCode: number;
  /** Empty where the transaction executed without error. */
  readonly errorMessage: string;
  /** Of the block that has the transaction, 64 hex digits. */
  readonly blockId: string;
  /** In the order in which the transaction emitted them. */
  readonly events: readonly ChainEvent[];
}

/**
 * A transaction on chain, without its signatures. Addresses are 16 hex digits. In a script or an argument
 * that is no UTF-8, each byte above 127 is U+FFFD.
 */
export interface ChainTransaction {
  /** The Cadence text. */
  readonly script: string;
  /** JSON-Cadence texts. */
  readonly arguments: readonly string[];
  /** The key whose sequence number the transaction consumes. */
  readonly proposalKey: ProposalKey;
  /** The account that pays the fees. */
  readonly payer: string;
  /** The accounts that the transaction acts for. */
  readonly authorizers: readonly string[];
}
