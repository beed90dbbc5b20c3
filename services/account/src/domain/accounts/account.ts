import type { PublicKey } from "@countersign/keys";

/** An address of an account. */
export interface AccountAddress {
  readonly chainName: string;
  readonly chainType: "cadence" | "evm";
  /** 16 hex digits without 0x (cadence), 0x and 40 hex digits (evm). */
  readonly address: string;
  /** The network's EVM chain id. */
  readonly chainId: number;
}

export interface Account {
  readonly id: string;
  readonly profileImageUrl: string;
  readonly addresses: readonly AccountAddress[];
  /** As the chain showed them at the last report. */
  readonly parents: readonly AccountAddress[];
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * queued: waits for a batch; assigned: in a creation; deployed: on chain and bound; failed: the chain refused
 * it alone, and repeating the request queues it again; cancelled: given up for good.
 */
export type DeploymentState = "queued" | "assigned" | "deployed" | "failed" | "cancelled";

export interface Deployment {
  readonly chainName: string;
  readonly userKey: PublicKey;
  readonly state: DeploymentState;
  /** Of the last creation that it was in; empty while none was signed. */
  readonly transactionId: string;
}

/** An account with its deployment on one chain. */
export interface AccountDeployment {
  readonly account: Account;
  /** Undefined where the account is not meant for that chain. */
  readonly deployment: Deployment | undefined;
}
