import type { FlowTransaction, TransactionPayload } from "@countersign/flow";
import { encodeCadence, keyChangeArguments, keyTemplateScript, MAX_COMPUTATION } from "@countersign/flow";
import type { AccountsOnChains, KeyAdditionSigner } from "../key-additions/key-addition.ts";
import type { AccountOnChain } from "../ports.ts";

/**
 * submitted: bytes are committed and may be on the chain; failed: they can never execute, another attempt
 * follows.
 */
export type ServerKeyRotationState = "submitted" | "sealed" | "failed";

/** A rotation of a server key with its committed bytes: at most one for each account, chain and version. */
export interface ServerKeyRotation extends AccountOnChain {
  /** The version that it leads to. */
  readonly version: number;
  /** 128 hex digits. */
  readonly newKey: string;
  readonly state: ServerKeyRotationState;
  readonly transaction: FlowTransaction;
  readonly transactionId: string;
  readonly referenceHeight: bigint;
}

export interface OpenRotationsPage {
  /** Only those committed before this time. */
  readonly before?: Date | undefined;
  /** How many of the oldest ones are left out. */
  readonly skip?: number;
}

/** Rotations under way and done. */
export interface ServerKeyRotationStore {
  /** The newest one of an account on a chain. */
  newest(accountId: string, chainName: string): Promise<ServerKeyRotation | undefined>;
  /** Commits a rotation unless another one is submitted or sealed. Returns the stored one. */
  commit(rotation: ServerKeyRotation, now: Date): Promise<ServerKeyRotation>;
  /** Changes a rotation from submitted to its end, once. */
  finish(rotation: ServerKeyRotation, state: "sealed" | "failed"): Promise<void>;
  /** Those of a chain that are submitted, the oldest first. */
  open(chainName: string, limit: number, page?: OpenRotationsPage): Promise<ServerKeyRotation[]>;
}

/** A rotation that the signer asks for. Keys: 128 hex digits. */
export interface WantedRotation {
  readonly version: number;
  readonly oldKey: string;
  readonly newKey: string;
}

/** A server key of an account as the signer has it: 128 hex digits, and its recorded index. */
export interface BoundServerKey {
  readonly version: number;
  readonly index: number;
  readonly publicKey: string;
}

/** The server keys of an account as the signer has them. */
export interface BoundServerKeys {
  /** The one that signs. */
  readonly current: BoundServerKey;
  /** Undefined where the account has the one that the operator wants. */
  readonly next: Omit<BoundServerKey, "index"> | undefined;
  /** Those before, the oldest first. */
  readonly retired: readonly BoundServerKey[];
}

/** Returns the rotation that is to be made, if one is. */
export const wantedRotation = ({ current, next }: BoundServerKeys): WantedRotation | undefined =>
  next && { version: next.version, oldKey: current.publicKey, newKey: next.publicKey };

export interface RotationSigner extends KeyAdditionSigner {
  serverKeys(accountId: string, chainName: string): Promise<BoundServerKeys>;
  /**
   * Records that the key of this version is on chain at `index`. Idempotent; corrects a wrong index. With
   * `replaces` it is the account's key again: that current version is not on chain and is withdrawn.
   *
   * Writes: the account's binding, in the signer's database.
   * Crash: the binding is written or not; reconciling the open rotation, or the next list, calls this again.
   */
  rotateBinding(rotation: AccountOnChain & { version: number }, index: number, replaces?: number): Promise<void>;
}

export interface RotationOptions extends AccountsOnChains {
  readonly rotations: ServerKeyRotationStore;
  readonly signer: RotationSigner;
}

/**
 * Returns the payload of rotate-server-key, proposed by the old server key: it voids other templates of its
 * sequence number.
 */
export const rotationPayload = (
  { oldKey, newKey }: Pick<WantedRotation, "oldKey" | "newKey">,
  chosen: Pick<TransactionPayload, "referenceBlockId" | "proposalKey" | "payer">,
): TransactionPayload => ({
  script: keyTemplateScript("rotate-server-key"),
  arguments: keyChangeArguments({ template: "rotate-server-key", oldKey, newServerKey: newKey }).map(encodeCadence),
  gasLimit: MAX_COMPUTATION,
  authorizers: [chosen.proposalKey.address],
  ...chosen,
});
