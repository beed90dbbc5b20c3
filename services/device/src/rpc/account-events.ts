import type { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { type Handlers, requireToken } from "@countersign/rpc";
import { type WatchAccountOptions, watchAccount } from "../events/watch-account.ts";

/**
 * Handles device.v1.AccountEvents. The server checks the session every second and ends the stream with it.
 */
export function accountEventsHandlers(options: WatchAccountOptions): Handlers<AccountEventsService> {
  const watch = watchAccount(options);
  return {
    async *watch({ lastEventId }, call) {
      const { accountId, sessionId } = requireToken(call);
      yield* watch({ accountId, sessionId, lastEventId, signal: call.signal });
    },
  };
}
