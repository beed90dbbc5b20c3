import { REASONS, type Reason } from "@countersign/core";
import { z } from "zod";
import type { Route } from "./http/route.ts";
import { allowedScopes, SCOPES } from "./http/session.ts";

type Json = Record<string, unknown>;

/** The document's own version, which is the API's. */
const VERSION = "1.0.0";

/** Makes the OpenAPI 3.1 document of a route table. */
export function createOpenApi(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  for (const row of routes) {
    paths[row.path] ??= {};
    paths[row.path]![row.method] = operationOf(row);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Countersign",
      version: VERSION,
      description: "OpenID sign-up, device keys, accounts on Flow, co-signed and sponsored transactions.",
    },
    paths,
    components: {
      securitySchemes: { accessToken: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
      schemas: { Problem: toJsonSchema(problemSchema, "output") },
    },
  };
}

function operationOf(row: Route): Json {
  const parameters = [...parametersOf(row.request.params, "path"), ...parametersOf(row.request.query, "query")];
  for (const [, name] of row.path.matchAll(/\{(\w+)\}/g)) {
    if (parameters.some((parameter) => parameter.name === name)) continue;
    parameters.push({ name, in: "path", required: true, schema: { type: "string" } });
  }
  if (row.idempotencyKey) {
    const schema = { type: "string", minLength: 1, maxLength: 255 };
    parameters.push({ name: "Idempotency-Key", in: "header", required: false, schema });
  }
  if (row.events !== undefined) {
    const schema = { type: "string", pattern: "^[0-9]{1,20}$" };
    parameters.push({ name: "Last-Event-ID", in: "header", required: false, schema });
  }
  return {
    operationId: row.operationId,
    summary: row.summary,
    tags: [row.path.split("/")[1]],
    ...(parameters.length > 0 && { parameters }),
    ...(row.request.body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: toJsonSchema(row.request.body, "input") } },
      },
    }),
    responses: { [row.status]: successOf(row), ...problemsOf(row) },
    ...securityOf(row),
  };
}

function securityOf(row: Route): Json {
  if (row.token === "none") return { security: [] };
  return { security: row.token === "optional" ? [{}, { accessToken: [] }] : [{ accessToken: [] }] };
}

function successOf(row: Route): Json {
  if (row.events !== undefined) {
    return {
      description: "Events until the session ends",
      content: { "text/event-stream": { schema: { type: "string" } } },
    };
  }
  if (row.response === undefined) return { description: "Done" };
  return { description: "Done", content: { "application/json": { schema: toJsonSchema(row.response, "output") } } };
}

/** One response per status, naming the reasons that it may have. */
function problemsOf(row: Route): Json {
  const reasons = new Set<Reason>([...row.errors, "Unavailable", "DeadlineExceeded", "Internal"]);
  if (row.request.body)
    for (const reason of ["InvalidRequest", "PayloadTooLarge", "UnsupportedMediaType"] as const) reasons.add(reason);
  if (row.request.params || row.request.query || row.events) reasons.add("InvalidRequest");
  if (row.token === "user" || row.token === "ephemeral") {
    for (const reason of ["Unauthenticated", "InvalidAccessToken", "AccessTokenExpired", "SessionEnded"] as const)
      reasons.add(reason);
    if (allowedScopes(row).length < SCOPES.length) reasons.add("InsufficientScope");
  }
  if (row.limit) reasons.add("RateLimited");
  const responses: Json = {};
  for (const [status, group] of Map.groupBy(reasons, (reason) => REASONS[reason].http)) {
    responses[status] = {
      description: group.join(", "),
      content: { "application/problem+json": { schema: problemOf(group) } },
    };
  }
  return responses;
}

/** The problem document of these reasons and no others. */
const problemOf = (reasons: readonly Reason[]): Json => ({
  allOf: [{ $ref: "#/components/schemas/Problem" }, { properties: { error: { enum: reasons } } }],
});

function parametersOf(schema: z.ZodType | undefined, place: "path" | "query"): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = toJsonSchema(schema, "input") as {
    properties?: Json;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: property,
  }));
}

function toJsonSchema(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
  // Newer services may add members: neither side is closed.
  return JSON.parse(
    JSON.stringify(rest, (key, value) => (key === "additionalProperties" && value === false ? undefined : value)),
  );
}

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  error: z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]),
  errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  reason: z.string().optional(),
  availableAt: z.string().optional(),
  timeLockId: z.string().optional(),
});
