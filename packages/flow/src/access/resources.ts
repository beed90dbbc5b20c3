import type { ProposalKey } from "../codec/transaction.ts";

export interface Block {
  readonly id: string;
  readonly height: bigint;
  readonly time: Date;
}

export interface ChainKey {
  readonly index: number;
  /** 128 hex digits. */
  readonly publicKey: string;
  readonly signatureAlgorithm: string;
  readonly hashAlgorithm: string;
  readonly weight: number;
  readonly sequenceNumber: bigint;
  readonly revoked: boolean;
}

export interface ChainEvent {
  readonly type: string;
  readonly transactionId: string;
  /** Its place among the events of its transaction, where the node gave it. */
  readonly index?: number;
  /** The height of its block, where events were queried by height. */
  readonly height?: bigint;
  /** The event's fields as plain data; see readCadence. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface TransactionResult {
  readonly status: "Unknown" | "Pending" | "Finalized" | "Executed" | "Sealed" | "Expired";
  /** 0: executed without error. */
  readonly statusCode: number;
  readonly errorMessage: string;
  readonly blockId: string;
  readonly events: readonly ChainEvent[];
}

/** A transaction on chain, without its signatures. Addresses are 16 hex digits. */
export interface ChainTransaction {
  readonly script: string;
  /** JSON-Cadence texts. */
  readonly arguments: readonly string[];
  readonly proposalKey: ProposalKey;
  readonly payer: string;
  readonly authorizers: readonly string[];
}
