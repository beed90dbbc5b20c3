import { detached, type Logger, sleepUntil } from "@countersign/core";
import type { AccountOnChain } from "../domain/ports.ts";

/** How much later than its end a request learns of a deployment that another replica has made. */
const POLL_MS = 100;
const RETRY_MS = 1_000;

export interface DeploymentWaitersOptions {
  /** Returns those of the deployments that are not under way any more. */
  findEnded(deployments: readonly AccountOnChain[]): Promise<AccountOnChain[]>;
  readonly logger: Pick<Logger, "warn">;
}

const keyOf = ({ accountId, chainName }: AccountOnChain): string => `${accountId}/${chainName}`;

/**
 * Wakes this process's requests that wait for deployments. While any waits, one query asks for all of them,
 * ten times a second.
 */
export function createDeploymentWaiters({ findEnded, logger }: DeploymentWaitersOptions) {
  const waiting = new Map<string, { deployment: AccountOnChain; ended: AbortController; requests: number }>();
  let isPolling = false;

  const wake = (deployment: AccountOnChain): void => {
    const key = keyOf(deployment);
    waiting.get(key)?.ended.abort();
    waiting.delete(key);
  };

  async function poll(): Promise<void> {
    isPolling = true;
    for (let waitMs = POLL_MS; waiting.size > 0; ) {
      await sleepUntil(waitMs, []);
      const deployments = Array.from(waiting.values(), ({ deployment }) => deployment);
      try {
        if (deployments.length > 0) for (const ended of await findEnded(deployments)) wake(ended);
        waitMs = POLL_MS;
      } catch (err) {
        logger.warn({ err }, "the deployments that requests wait for could not be read; will retry");
        waitMs = RETRY_MS;
      }
    }
    isPolling = false;
  }

  return {
    /** Wakes the requests that wait for a deployment, which this process has ended. */
    wake,
    /** Resolves when the deployment has ended, or after `ms`. */
    async wait({ accountId, chainName }: AccountOnChain, ms: number, signal: AbortSignal): Promise<void> {
      const deployment = { accountId, chainName };
      const key = keyOf(deployment);
      const own = waiting.get(key) ?? { deployment, ended: new AbortController(), requests: 0 };
      waiting.set(key, own);
      own.requests += 1;
      if (!isPolling) void detached(poll);
      await sleepUntil(ms, [signal, own.ended.signal]);
      own.requests -= 1;
      if (own.requests === 0 && waiting.get(key) === own) waiting.delete(key);
    },
  };
}
