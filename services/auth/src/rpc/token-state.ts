import type { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import type { Handlers } from "@countersign/rpc";

type Watch = Handlers<TokenStateService>["watch"];

interface TokenStateFeed {
  /** Yields what changed since the cursor, until the signal. */
  watch(cursor: Parameters<Watch>[0]["cursor"], signal: AbortSignal): ReturnType<Watch>;
}

/** Handles auth.v1.TokenState. A stream ends with its call, and when the process stops (`signal`). */
export const tokenStateHandlers = (feed: TokenStateFeed, signal: AbortSignal): Handlers<TokenStateService> => ({
  watch: ({ cursor }, call) => feed.watch(cursor, AbortSignal.any([call.signal, signal])),
});
