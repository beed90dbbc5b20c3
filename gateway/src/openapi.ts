import { REASONS, type Reason } from "@countersign/core";
import { Problem } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import {
  type CreateDocumentOptions,
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import { allowedScopes, SCOPES } from "./http/authenticate.ts";
import type { Route } from "./http/route.ts";

/** The version of the document, which is the API's. */
const VERSION = "1.0.0";

const optional = { param: { required: false } };
const IDEMPOTENCY_KEY = z.string().min(1).max(255).optional().meta(optional);
const LAST_EVENT_ID = z
  .string()
  .regex(/^[0-9]{1,20}$/)
  .optional()
  .meta(optional);

/** Returns the OpenAPI 3.1 document of a route table. */
export function createOpenApi(routes: readonly Route[]): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const row of routes) paths[row.path] = { ...paths[row.path], [row.method]: operationOf(row) };
  const info = {
    title: "Countersign",
    version: VERSION,
    description: "OpenID sign-up, device keys, accounts on Flow, co-signed and sponsored transactions.",
  };
  const accessToken = { type: "http", scheme: "bearer", bearerFormat: "JWT" } as const;
  const components = { securitySchemes: { accessToken }, schemas: { Problem } };
  // Newer gateways may add members to their answers: no schema is closed.
  const override: CreateDocumentOptions["override"] = ({ jsonSchema }) => void delete jsonSchema.additionalProperties;
  return createDocument({ openapi: "3.1.1", info, paths, components }, { override });
}

function operationOf(row: Route): ZodOpenApiOperationObject {
  const { params, query, body } = row.request;
  return {
    operationId: row.operationId,
    summary: row.summary,
    tags: [row.path.split("/")[1]!],
    requestParams: {
      ...(params && { path: params }),
      ...(query && { query }),
      ...(row.idempotencyKey && { header: z.object({ "Idempotency-Key": IDEMPOTENCY_KEY }) }),
      ...(row.events && { header: z.object({ "Last-Event-ID": LAST_EVENT_ID }) }),
    },
    ...(body && { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: { [row.status]: successOf(row), ...problemsOf(row) },
    security: SECURITY[row.token],
  };
}

const SECURITY: Record<Route["token"], Record<string, string[]>[]> = {
  none: [],
  optional: [{}, { accessToken: [] }],
  user: [{ accessToken: [] }],
  ephemeral: [{ accessToken: [] }],
};

function successOf({ events, response }: Route) {
  if (events !== undefined) {
    const content = { "text/event-stream": { schema: z.string() } };
    return { description: "Events until the session ends", content };
  }
  return { description: "Done", ...(response && { content: { "application/json": { schema: response } } }) };
}

/** Returns one response per status, which names its possible reasons. */
function problemsOf(row: Route) {
  const reasons = new Set<Reason>([...row.errors, "Unavailable", "DeadlineExceeded", "Internal"]);
  const add = (...others: Reason[]) => others.forEach((reason) => void reasons.add(reason));
  if (row.request.body) add("InvalidRequest", "PayloadTooLarge", "UnsupportedMediaType");
  if (row.request.params || row.request.query || row.events) add("InvalidRequest");
  if (row.token === "user" || row.token === "ephemeral") {
    add("Unauthenticated", "InvalidAccessToken", "AccessTokenExpired", "SessionEnded");
    if (allowedScopes(row).length < SCOPES.length) add("InsufficientScope");
  }
  if (row.limit) add("RateLimited");
  const byStatus = Map.groupBy(reasons, (reason) => REASONS[reason].http);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      status,
      { description: group.join(", "), content: { "application/problem+json": { schema: problemOf(group) } } },
    ]),
  );
}

/** Returns the schema of a problem document with one of these reasons. */
const problemOf = (reasons: Reason[]): oas31.SchemaObject => ({
  allOf: [{ $ref: "#/components/schemas/Problem" }, { properties: { error: { enum: reasons } } }],
});
