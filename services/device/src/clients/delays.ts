import type { TimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import type { RpcClient } from "@countersign/service-kit";
import type { Delays } from "../domain/cancel-delay.ts";

/** signer.v1.TimeLocks, over mutual TLS. */
export const delaysOfSigner = (client: RpcClient<TimeLocksService>): Delays => ({
  async list(accountId, requestId) {
    const { timeLocks } = await client.listTimeLocks({ accountId }, { requestId, idempotent: true });
    return timeLocks.map(({ id, operation, chainName, startedAt, availableAt, cancelledAt }) => {
      if (!startedAt || !availableAt) throw new Error("a delay that is not whole");
      return { id, operation, chainName, startedAt, availableAt, cancelledAt };
    });
  },
  async cancel(delay, requestId) {
    await client.cancelTimeLock(delay, { requestId, idempotent: true });
  },
});
