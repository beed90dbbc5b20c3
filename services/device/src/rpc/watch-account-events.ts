import type { WatchRequest, WatchResponse } from "@countersign/proto/device/v1/account_events.ts";
import { type CallContext, requireToken } from "@countersign/rpc";
import type { watchAccount } from "../events/watch-account.ts";

/** device.v1.AccountEvents/Watch. The server checks the session every second and ends the stream with it. */
export const watchAccountEventsRpc = (watch: ReturnType<typeof watchAccount>) =>
  async function* ({ lastEventId }: WatchRequest, call: CallContext): AsyncGenerator<WatchResponse> {
    const { accountId, sessionId } = requireToken(call);
    yield* watch({ accountId, sessionId, lastEventId, signal: call.signal });
  };
