import { BLOCK_SENT_MS } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { publicKeyFromProto, type RpcClient } from "@countersign/rpc";
import { LRUCache } from "lru-cache";
import type { TokenState } from "./state.ts";

/** How long an answer counts, from its question. The other half is for slow commits and differing clocks. */
const ANSWER_MS = BLOCK_SENT_MS / 2;
const MAX_CACHED_ACCOUNTS = 50_000;

/** Answers of auth.v1.TokenState/ListBlockedKeys. */
type Client = Pick<RpcClient<TokenStateService>, "listBlockedKeys">;

/**
 * Returns a function that lists all blocked keys of an account: those in auth's answer, which is cached, and
 * those that auth has sent since. A block that the answer lacks was committed after the question; auth sends
 * it for BLOCK_SENT_MS, longer than the answer counts. Errors: Unavailable, DeadlineExceeded, where auth must
 * be asked and cannot.
 */
export function createBlockedKeys(client: Client, state: Pick<TokenState, "blockedKeys" | "resets">) {
  // Promises, so that an account with many requests is asked about once. The age counts from the question.
  const answers = new LRUCache<string, Promise<readonly PublicKey[]>>({
    max: MAX_CACHED_ACCOUNTS,
    ttl: ANSWER_MS,
    perf: performance,
  });
  let resets = state.resets();

  const ask = (accountId: string): Promise<readonly PublicKey[]> => {
    const answer = client
      .listBlockedKeys({ accountId }, { idempotent: true })
      .then(({ publicKeys }) => publicKeys.map((key) => publicKeyFromProto(key)));
    answers.set(accountId, answer);
    answer.catch(() => {
      if (answers.peek(accountId) === answer) answers.delete(accountId);
    });
    return answer;
  };

  return async (accountId: string): Promise<readonly PublicKey[]> => {
    if (state.resets() !== resets) {
      // This process may have been stopped for longer than auth sends a block.
      answers.clear();
      resets = state.resets();
    }
    const answered = await (answers.get(accountId) ?? ask(accountId));
    // Read after the answer: a block that is committed while the question is under way is in one of the two.
    const sent = state.blockedKeys(accountId);
    return sent.length === 0 ? answered : [...answered, ...sent];
  };
}
