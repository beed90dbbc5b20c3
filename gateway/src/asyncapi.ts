import { ACCOUNT_EVENTS } from "@countersign/http-api/events.ts";
import { eventSchemas, type OpenApiDocument } from "./openapi.ts";

/** Returns the AsyncAPI 3 document of the stream of events. */
export function createAsyncApi({ info, servers, components }: OpenApiDocument): object {
  const names = Object.keys(ACCOUNT_EVENTS) as (keyof typeof ACCOUNT_EVENTS)[];
  const schemaOf = (name: keyof typeof ACCOUNT_EVENTS) => ACCOUNT_EVENTS[name].meta()?.id as string;
  const base = new URL(servers[0]?.url ?? "/", "http://localhost:8080");
  return {
    asyncapi: "3.0.0",
    info: {
      title: `${info.title}: events`,
      version: info.version,
      description:
        "The server-sent events of GET /device/v1/events. Each has `id`, to resume from, its name in `event`, and in " +
        "`data` one line of JSON: the payload. An `id` without data only moves the position. Clients ignore events " +
        "and members that they do not know.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    defaultContentType: "application/json",
    servers: {
      gateway: {
        host: base.host,
        pathname: base.pathname,
        protocol: base.protocol.slice(0, -1),
        description: "This gateway",
        security: [{ $ref: "#/components/securitySchemes/accessToken" }],
      },
    },
    channels: {
      accountEvents: {
        address: "/device/v1/events",
        description: "The events of the token's account, from `Last-Event-ID` on, until the session ends.",
        messages: Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }])),
        bindings: { http: {} },
      },
    },
    operations: {
      sendAccountEvents: {
        action: "send",
        channel: { $ref: "#/channels/accountEvents" },
        summary: "Sends the account's events as they happen",
        bindings: {
          http: {
            method: "GET",
            bindingVersion: "0.3.0",
          },
        },
      },
    },
    components: {
      securitySchemes: { accessToken: components.securitySchemes.accessToken },
      messages: Object.fromEntries(
        names.map((name) => [
          name,
          {
            name,
            title: name,
            contentType: "application/json",
            payload: { $ref: `#/components/schemas/${schemaOf(name)}` },
          },
        ]),
      ),
      schemas: eventSchemas(),
    },
  };
}
