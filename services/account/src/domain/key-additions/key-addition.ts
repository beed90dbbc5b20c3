import type { AddedKey, ChainKey, FlowTransaction, TransactionSignature } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { AccountOnChain, AccountStore } from "../ports.ts";

/** submitted: bytes are committed and may be on the chain; the others are final. */
export type KeyAdditionState = "submitted" | "sealed" | "failed" | "abandoned";

/** The key to be added and its account. */
export interface KeyAdditionTarget extends AccountOnChain {
  readonly userKey: PublicKey;
}

/** An attempt with its committed bytes. */
export interface KeyAddition extends KeyAdditionTarget {
  readonly attemptId: string;
  readonly state: KeyAdditionState;
  /** Absent where it was abandoned. */
  readonly transaction: FlowTransaction | undefined;
  readonly transactionId: string;
  readonly referenceHeight: bigint;
  /** -1 until sealed. */
  readonly keyIndex: number;
}

/** Attempts to add a key. */
export interface KeyAdditionStore {
  find(attemptId: string): Promise<KeyAddition | undefined>;
  /** Commits an attempt, unless one with its id is committed already. Returns the committed one. */
  commit(addition: KeyAddition, now: Date): Promise<KeyAddition>;
  /** From submitted to its end, once. */
  finish(attemptId: string, end: { state: "sealed"; keyIndex: number } | { state: "failed" }): Promise<void>;
}

export type { ChainKey as AccountKey } from "@countersign/flow";

/** How a transaction that should add a key went. */
export interface KeyAdditionOutcome {
  readonly status: "unknown" | "pending" | "sealed" | "failed" | "expired";
  /** Its block, for sealed and failed ones. */
  readonly height?: bigint;
  /**
   * When the next block was begun, if there is one: it had run by then. Its own block's time would be too
   * early where blocks are made of what came after they were begun, as the emulator's are.
   */
  readonly before?: Date;
  /** The types and, of key additions, the fields of its events, but for fees. */
  readonly events: readonly KeyAdditionEvent[];
}

export interface KeyAdditionEvent {
  readonly type: string;
  readonly addedKey?: Omit<AddedKey, "signatureAlgorithm">;
  readonly revokedKey?: Pick<AddedKey, "address" | "keyIndex">;
}

/** The chain, as far as adding keys needs it. */
export interface KeyAdditionChain {
  readonly chainName: string;
  /** The payer's address, 16 hex digits. */
  readonly paymaster: string;
  /** Blocks after which a reference block is too old to execute. */
  readonly maxReferenceAge: bigint;
  latestBlock(signal: AbortSignal): Promise<{ id: string; height: bigint }>;
  /** The height of a block, or undefined where the node does not have it. */
  blockHeight(id: string, signal: AbortSignal): Promise<bigint | undefined>;
  /** As of the block at `height`, or of the newest: one node may lag behind the other. */
  accountKeys(address: string, signal: AbortSignal, height?: bigint): Promise<readonly ChainKey[]>;
  submit(transaction: FlowTransaction, signal: AbortSignal): Promise<void>;
  keyAdditionOutcome(transactionId: string, signal: AbortSignal): Promise<KeyAdditionOutcome>;
}

/** The user's call, on whose behalf the signer signs; only its client reads it. */
export type OnBehalfOf = object;

/** The accounts, and the chains on which their keys are added. */
export interface AccountsOnChains {
  readonly accounts: Pick<AccountStore, "find">;
  readonly chains: ReadonlyMap<string, KeyAdditionChain>;
}

/** The signer, as far as adding keys needs it: both of our signatures, with the approver's token. */
export interface KeyAdditionSigner {
  signTransaction(chainName: string, message: Uint8Array, call: OnBehalfOf): Promise<TransactionSignature>;
  signPaymaster(chainName: string, message: Uint8Array, call: OnBehalfOf): Promise<TransactionSignature>;
}
