import { type Clock, countPerMinute, limitPerMinute } from "@countersign/core";
import type { KeyAdditions } from "./ports.ts";
import type { KeyAddition } from "./two-factor.ts";

/**
 * Limits what readings and approvals of one request read on the chain in a minute of this process. Above it a
 * message stays as it is, which can still be shown; verifications are refused: RateLimited. Each request has
 * its own count, though few are pending: a thief's phone that reads one must not keep another one's message
 * from being renewed. Opening a request has limits of its own, and reads always.
 */
export function limitChainReads(keyAdditions: KeyAdditions, clock: Clock, perMinute: number): KeyAdditions {
  const countPrepared = countPerMinute();
  const limitVerified = limitPerMinute(clock);
  const idOf = ({ accountId, chainName, userKey }: KeyAddition) => `${accountId}/${chainName}/${userKey.publicKey}`;
  return {
    ...keyAdditions,
    async prepare(addition, currentMessage) {
      const isFirst = currentMessage.length === 0;
      if (!isFirst && countPrepared(idOf(addition), clock.now()) > perMinute) return currentMessage;
      return keyAdditions.prepare(addition, currentMessage);
    },
    async verify(addition, call) {
      limitVerified(idOf(addition), perMinute);
      return keyAdditions.verify(addition, call);
    },
  };
}
