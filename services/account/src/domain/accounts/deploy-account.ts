import { AppError, type Clock, unknownChain } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import type { AccountOnChain, AccountStore, QueueDeployment } from "../ports.ts";
import type { AccountDeployment } from "./account.ts";
import { requireFlowKey } from "./account-on-chain.ts";

export interface DeployAccount extends QueueDeployment {
  readonly waitMs: number;
}

export interface DeployAccountOptions {
  readonly store: AccountStore;
  readonly clock: Clock;
  readonly chainNames: ReadonlySet<string>;
  /** Wakes the runner of this process: a deployment is queued. Those of others look once a second. */
  wakeRunner(): void;
  /** Resolves when the deployment may have ended, or after `ms`. */
  waitForEnd(deployment: AccountOnChain, ms: number, signal: AbortSignal): Promise<void>;
}

/**
 * Deploys an account on a chain. Idempotent. Waits until it is on chain, has failed, or `waitMs` have passed,
 * and returns the state.
 * Errors: UnknownChain, UnsupportedKey, AccountExists.
 *
 * Writes: the account and its queued deployment, in one statement; a failed deployment is queued again unless
 * `keepFailed` is set.
 * Crash: the creation runner of any replica takes queued deployments from the database.
 * Race: the first user key of an account and chain is its key; another is AccountExists.
 */
export const deployAccount =
  ({ store, clock, chainNames, wakeRunner, waitForEnd }: DeployAccountOptions) =>
  async (command: DeployAccount, signal: AbortSignal): Promise<AccountDeployment> => {
    const { accountId, chainName, userKey } = command;
    if (!chainNames.has(chainName)) throw unknownChain(chainName, chainNames);
    requireFlowKey(chainName, userKey);
    let current = await store.queue(command, clock.now());
    if (current && !(current.deployment && samePublicKey(current.deployment.userKey, userKey)))
      throw new AppError("AccountExists");

    const end = clock.now().getTime() + command.waitMs;
    const isUnderWay = () => !current || ["queued", "assigned"].includes(current.deployment?.state ?? "");
    if (isUnderWay()) wakeRunner();
    while (isUnderWay() && !signal.aborted) {
      const left = end - clock.now().getTime();
      if (left <= 0) break;
      await waitForEnd(command, left, signal);
      current = (await store.find(accountId, chainName)) ?? current;
    }
    return current ?? (await store.find(accountId, chainName))!;
  };
