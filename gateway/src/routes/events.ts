import type { WatchResponse } from "@countersign/proto/device/v1/account_events.ts";
import type { Services } from "../clients.ts";
import type { ServerSentEvent } from "../http/event-stream.ts";
import { eventRoute, type UntaggedRoute } from "../http/route.ts";

export const eventRoutes = ({ accountEvents }: Services): UntaggedRoute[] => [
  eventRoute({
    path: "/device/v1/events",
    operationId: "watchEvents",
    summary: "The account's events as they happen, from Last-Event-ID on, until the session ends",
    description:
      "Server-sent events: each has an `id` to resume from, a name in `event`, and one line of JSON in " +
      "`data`. The AsyncAPI document `/asyncapi.json` lists the events with their data. Read the " +
      "stream with fetch, because the access token is in a header. A comment is sent every 15 seconds " +
      "of silence.",
    token: "user",
    recover: true,
    errors: ["RateLimited"],
    events: (call) => {
      const options = { onBehalfOf: call, clientIp: call.clientIp || undefined };
      return toServerSent(accountEvents.watch({ lastEventId: call.lastEventId }, options));
    },
  }),
];

async function* toServerSent(messages: AsyncIterable<WatchResponse>): AsyncGenerator<ServerSentEvent> {
  for await (const { id, type, dataJson } of messages) yield { id, type, data: dataJson };
}
