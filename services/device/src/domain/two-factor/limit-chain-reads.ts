import { type Clock, countPerMinute, limitPerMinute } from "@countersign/core";
import type { KeyAdditions } from "./ports.ts";

/**
 * Limits what one account's readings and approvals of requests read on the chain in a minute of this process.
 * Above it a message stays as it is, which can still be shown; verifications are refused: RateLimited.
 * Opening a request has limits of its own, and reads always.
 */
export function limitChainReads(keyAdditions: KeyAdditions, clock: Clock, perMinute: number): KeyAdditions {
  const countPrepared = countPerMinute();
  const limitVerified = limitPerMinute(clock);
  return {
    ...keyAdditions,
    async prepare(addition, currentMessage) {
      const isFirst = currentMessage.length === 0;
      if (!isFirst && countPrepared(addition.accountId, clock.now()) > perMinute) return currentMessage;
      return keyAdditions.prepare(addition, currentMessage);
    },
    async verify(addition, call) {
      limitVerified(addition.accountId, perMinute);
      return keyAdditions.verify(addition, call);
    },
  };
}
