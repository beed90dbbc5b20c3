import type { WatchRequest, WatchResponse } from "@countersign/proto/device/v1/account_events.ts";
import type { ServerSentEvent } from "../http/event-stream.ts";
import { eventRoute, type Route } from "../http/route.ts";
import type { StreamRpc } from "./rpc.ts";

/** What of device these routes call. */
export interface EventClients {
  accountEvents: { watch: StreamRpc<WatchRequest, WatchResponse> };
}

/** The account's events as they happen. */
export function eventRoutes({ accountEvents }: EventClients): Route[] {
  return [
    eventRoute({
      path: "/device/v1/events",
      operationId: "watchEvents",
      summary: "The account's events as they happen, from Last-Event-ID on, until the session ends",
      token: "user",
      recover: true,
      errors: ["RateLimited"],
      events: (call) => toServerSent(accountEvents.watch({ lastEventId: call.lastEventId }, { call })),
    }),
  ];
}

async function* toServerSent(messages: AsyncIterable<WatchResponse>): AsyncGenerator<ServerSentEvent> {
  for await (const { id, type, dataJson } of messages) yield { id, type, data: dataJson };
}
