import type { FlowTransaction } from "@countersign/flow";

/** The outcome of a transaction, as the chain reports it. */
export type Outcome =
  | { readonly status: "unknown" }
  | { readonly status: "pending" }
  | { readonly status: "sealed"; readonly accounts: readonly DeployedAccount[] }
  | {
      readonly status: "failed";
      readonly cause: string;
      /** The height at which the sequence number was not the key's, where that is the cause. */
      readonly wrongSequenceAt?: bigint | undefined;
    }
  | { readonly status: "expired" };

/** An account that a transaction created, known by its server key. */
export interface DeployedAccount {
  /** 16 hex digits. */
  readonly address: string;
  /** 0x and 40 hex digits. */
  readonly evmAddress: string;
  /** 128 hex digits. */
  readonly serverKey: string;
  readonly serverKeyIndex: number;
}

/** The chain, as far as the creation saga needs it. */
export interface Chain {
  readonly chainName: string;
  readonly evmChainId: number;
  readonly creator: {
    readonly address: string;
    readonly keyCount: number;
    readonly firstKeyId?: number | undefined;
  };
  /** The text of the creation transaction. */
  readonly creationScript: string;
  readonly maxReferenceAge: bigint;
  latestBlock(signal: AbortSignal): Promise<{ id: string; height: bigint }>;
  /** As of the block at `height`, or of the newest. */
  sequenceNumber(keyIndex: number, signal: AbortSignal, height?: bigint): Promise<bigint>;
  submit(transaction: FlowTransaction, signal: AbortSignal): Promise<void>;
  outcome(transactionId: string, signal: AbortSignal): Promise<Outcome>;
  /**
   * Returns the accounts that a transaction with this proposal key and sequence number, and these server
   * keys, created in the blocks from `from` to `to`; none where there is no such transaction. Server keys are
   * public once a creation is submitted: anyone may create an account with one.
   */
  findDeployed(
    creation: { serverKeys: readonly string[]; transaction: Pick<FlowTransaction, "proposalKey"> },
    from: bigint,
    to: bigint,
    signal: AbortSignal,
  ): Promise<DeployedAccount[]>;
}
