import type { FlowTransaction } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { AccountAddress, AccountDeployment, DeploymentState } from "./accounts/account.ts";
import type { CreatedAccount, Creation, FailurePlan } from "./creations/creation.ts";

export interface AccountOnChain {
  readonly accountId: string;
  readonly chainName: string;
}

export interface QueueDeployment extends AccountOnChain {
  readonly userKey: PublicKey;
  readonly profileImageUrl: string;
  /** Leaves a deployment that the chain refused as it is: another attempt costs fees. */
  readonly keepFailed?: boolean;
}

/** Accounts and their deployments. */
export interface AccountStore {
  find(accountId: string, chainName: string): Promise<AccountDeployment | undefined>;
  /**
   * Creates account and deployment where they are missing, and queues a failed one again unless `keepFailed`
   * is set. Returns the present state; undefined where this call has queued it.
   */
  queue(deployment: QueueDeployment, now: Date): Promise<AccountDeployment | undefined>;
  /** Gives a deployment up unless it is, or was, in a transaction that may be on chain. Returns its state. */
  cancel(deployment: Omit<QueueDeployment, "profileImageUrl" | "keepFailed">, now: Date): Promise<DeploymentState>;
  /** Replaces the account's parents; where they change, updatedAt moves and the event commits with them. */
  setParents(accountId: string, parents: readonly AccountAddress[], now: Date): Promise<void>;
}

/**
 * Creations, their leases and their proposal keys. Methods with an owner change nothing and return false once
 * another runner has the lease.
 */
export interface CreationStore {
  /** Takes up to ten queued deployments and a free proposal key; undefined where there are none. */
  assign(chainName: string, lease: Lease): Promise<Creation | undefined>;
  /** Takes over a creation whose runner let the lease lapse. */
  takeOver(lease: Lease): Promise<Creation | undefined>;
  /** Renews the lease, or ends it earlier. */
  moveLeaseEnd(id: string, lease: Lease): Promise<boolean>;
  /** Commits the signed bytes; only after this may they be submitted. */
  signed(id: string, owner: string, signed: SignedCreation): Promise<boolean>;
  /** The bytes can never execute any more: back to assigned, with the same key and sequence number. */
  replace(id: string, owner: string): Promise<boolean>;
  /** Addresses, deployments, events and the free key, in one commit. */
  sealed(
    id: string,
    owner: string,
    created: readonly CreatedAccount[],
    chain: { evmChainId: number; now: Date },
  ): Promise<boolean>;
  failed(id: string, owner: string, plan: FailurePlan, cause: string): Promise<boolean>;
}

export interface Lease {
  readonly owner: string;
  readonly now: Date;
  readonly until: Date;
}

/** The leases of chains, each for one replica's work. */
export interface Leases {
  /** Returns whether the owner has the lease of a chain already, or nobody has it. */
  mayLease(chainName: string, owner: string): Promise<boolean>;
}

/** The heights up to which each chain was read. */
export interface Heights extends Leases {
  /**
   * Takes or renews a chain's lease and returns the height; undefined while another replica has it. A new
   * chain begins at `begin`.
   */
  lease(chainName: string, lease: Lease, begin: bigint): Promise<bigint | undefined>;
  /** Moves the height; false, and nothing done, where somebody has moved it before. */
  advance(chainName: string, heights: { from: bigint; to: bigint }): Promise<boolean>;
}

/** The chain, as far as operators watch it. */
export interface ObservedChain {
  readonly chainName: string;
  readonly creator: { readonly address: string };
  /** The paymaster's address. */
  readonly paymaster: string;
  /** The newest sealed block. */
  latestBlock(signal: AbortSignal): Promise<{ height: bigint; time: Date }>;
  /** In 10⁻⁸ FLOW. */
  balance(address: string, signal: AbortSignal): Promise<bigint>;
}

/** Unfinished work of one kind, in one state. */
export interface OpenWork {
  readonly saga: string;
  readonly state: string;
  readonly count: number;
  /** Seconds since the oldest began; 0 where there is none. */
  readonly oldest: number;
}

/** A chain's unfinished work, as far as operators watch it. */
export interface ChainReadings {
  openSagas(chainName: string): Promise<readonly OpenWork[]>;
  /** The height up to which accounts are watched; undefined before the first look. */
  watchedHeight(chainName: string): Promise<bigint | undefined>;
}

export interface SignedCreation {
  readonly transaction: FlowTransaction;
  readonly transactionId: string;
  readonly sequenceNumber: bigint;
  readonly referenceHeight: bigint;
  readonly serverKeys: readonly string[];
  /** Of all of them, as they were derived. */
  readonly serverKeyVersion: number;
}

/** The signer, as far as the account service needs it. */
export interface CreationSigner {
  /** In the order of the ids; of the version that new accounts get at this moment. */
  deriveServerKeys(
    chainName: string,
    accountIds: readonly string[],
  ): Promise<{ readonly version: number; readonly publicKeys: readonly PublicKey[] }>;
  signCreation(
    chainName: string,
    message: Uint8Array,
    accountIds: readonly string[],
  ): Promise<{ address: string; keyId: number; signature: string }>;
  /**
   * Records an account's address and server key.
   *
   * Writes: the binding, in the signer's database.
   * Crash: the creation stays signed; the next runner binds again, which changes nothing.
   * Race: the first binding of an account and chain stays; another one is SigningRefused (BindingConflict).
   */
  bindAddress(
    binding: AccountOnChain & { address: string; serverKeyIndex: number; serverKeyVersion: number },
  ): Promise<void>;
}
