import { invalidField, isUuid } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";

type Watch = Handlers<TokenStateService>["watch"];

interface TokenStateFeed {
  /** Yields what changed since the cursor, until the signal. */
  watch(request: Parameters<Watch>[0], signal: AbortSignal): ReturnType<Watch>;
}

/** Handles auth.v1.TokenState. A stream ends with its call, and when the process stops (`signal`). */
export const tokenStateHandlers = (
  feed: TokenStateFeed,
  blockedKeys: (accountId: string) => Promise<PublicKey[]>,
  signal: AbortSignal,
): Handlers<TokenStateService> => ({
  async listBlockedKeys({ accountId }) {
    if (!isUuid(accountId)) throw invalidField("/accountId", "is not a UUID");
    return { publicKeys: (await blockedKeys(accountId)).map(publicKeyToProto) };
  },

  watch: (request, call) => feed.watch(request, AbortSignal.any([call.signal, signal])),
});
