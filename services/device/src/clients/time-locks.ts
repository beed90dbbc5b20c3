import type { TimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import type { RpcClient } from "@countersign/rpc";
import type { TimeLocks } from "../domain/time-locks/cancel-time-lock.ts";

/** Calls signer.v1.TimeLocks. */
export const signerTimeLocks = (client: RpcClient<TimeLocksService>): TimeLocks => ({
  async list(accountId, requestId) {
    const { timeLocks } = await client.listTimeLocks({ accountId }, { requestId, idempotent: true });
    return timeLocks.map(({ id, operation, chainName, startedAt, availableAt, cancelledAt }) => {
      if (!startedAt || !availableAt) throw new Error(`the signer's time lock ${id} has no start or no end`);
      return { id, operation, chainName, startedAt, availableAt, cancelledAt };
    });
  },
  async cancel(timeLock, requestId) {
    await client.cancelTimeLock(timeLock, { requestId, idempotent: true });
  },
});
