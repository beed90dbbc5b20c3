import { AppError, REASONS, type Reason } from "@countersign/core";
import { ACCOUNT_EVENTS } from "@countersign/http-api/events.ts";
import { FieldProblem, Problem } from "@countersign/http-api/resources.ts";
import { z } from "zod";
import {
  type CreateDocumentOptions,
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import { allowedScopes, SCOPES } from "./http/authenticate.ts";
import { problemOf } from "./http/problems.ts";
import { type Route, TAGS } from "./http/route.ts";

/** The version of the document, which is the API's. */
const VERSION = "1.0.0";

const TITLE = "Countersign";

const DESCRIPTION = `OpenID sign-up, device keys, accounts on Flow, co-signed and sponsored transactions.

- Bodies are JSON in UTF-8 of at most 64 KiB. Unknown members are ignored, and \`null\` counts as absent. A text
  with U+0000 or with half of a surrogate pair is \`InvalidRequest\`.
- Answers have every documented member; newer gateways may add members, events, and values to those of an
  \`x-extensible-enum\`.
- Errors are problem documents (RFC 9457): \`error\` is the stable code.`;

/** The part of a served document that its tests and the AsyncAPI document read. */
export interface OpenApiDocument {
  info: { title: string; version: string; description: string };
  servers: { url: string; description: string }[];
  paths: Record<string, Record<string, { responses: Record<string, { $ref?: string; "x-error-codes"?: Reason[] }> }>>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, { $ref?: string; "x-error-codes"?: Reason[] }>;
    securitySchemes: Record<string, object>;
  };
}

/**
 * Returns the OpenAPI 3.1 document of a route table. `server` is the URL at which clients reach the gateway;
 * default: the one that the document was read from.
 */
export function createOpenApi(routes: readonly Route[], server = "/"): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  for (const row of routes) paths[row.path] = { ...paths[row.path], [row.method]: operationOf(row) };
  const document = createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: TITLE,
        version: VERSION,
        description: DESCRIPTION,
        license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: server, description: "This gateway" }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths,
      components: {
        securitySchemes: SECURITY_SCHEMES,
        headers: HEADERS,
        responses: Object.fromEntries(OF_ANY_REQUEST.map((reason) => [reason, problemResponse([reason])])),
        examples: examplesOf(paths),
        schemas: { Problem, FieldProblem },
      },
    },
    { override: openObjects },
  );
  const plain = wrapReferences(document) as oas31.OpenAPIObject;
  addExamples(plain);
  return plain as unknown as OpenApiDocument;
}

/** Returns the schemas of the events' data, and those that they refer to, by their names. */
export function eventSchemas(): Record<string, oas31.SchemaObject> {
  const schemas = Object.fromEntries(Object.values(ACCOUNT_EVENTS).map((schema) => [schema.meta()?.id, schema]));
  const options = { override: openObjects };
  const info = { title: TITLE, version: VERSION };
  return createDocument({ openapi: "3.1.1", info, components: { schemas } }, options).components!.schemas as Record<
    string,
    oas31.SchemaObject
  >;
}

/**
 * Newer gateways may add members to their answers: no schema is closed. A member that is an object or null is
 * always there, but documented as optional: openapi-generator's Kotlin refuses the null of a required one.
 */
const openObjects: NonNullable<CreateDocumentOptions["override"]> = ({ jsonSchema }) => {
  delete jsonSchema.additionalProperties;
  const members = jsonSchema.properties as Record<string, oas31.SchemaObject>;
  const isNullable = (name: string) => members[name]?.anyOf?.some((each) => "type" in each && each.type === "null");
  if (jsonSchema.required) jsonSchema.required = jsonSchema.required.filter((name) => !isNullable(name));
};

/** Wraps references that have members beside them, such as a description: some generators drop these. */
function wrapReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(wrapReferences);
  if (typeof node !== "object" || node === null) return node;
  const members = Object.entries(node).map(([name, value]) => [name, wrapReferences(value)] as const);
  const { $ref, additionalProperties: _, ...others } = Object.fromEntries(members) as Record<string, unknown>;
  return $ref === undefined || members.length === 1 ? Object.fromEntries(members) : { allOf: [{ $ref }], ...others };
}

const bearer = (description: string): oas31.SecuritySchemeObject => ({
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description,
});

const SECURITY_SCHEMES: Record<string, oas31.SecuritySchemeObject> = {
  accessToken: bearer(
    "The access token of a full session, from signing up, signing in or refreshing. Lives 15 minutes.",
  ),
  recoveryAccessToken: bearer("The access token of a session that a recovery key has opened. Lives 15 minutes."),
  ephemeralAccessToken: bearer(
    "From `requestTwoFactor`: finishes that request, and opens the signing operations. Lives 5 minutes.",
  ),
  loginToken: {
    type: "oauth2",
    // Not openIdConnect: tools fetch the configuration that it names, and each app has its own provider.
    flows: {
      authorizationCode: {
        authorizationUrl: "https://provider.example/auth",
        tokenUrl: "https://provider.example/token",
        scopes: { openid: "The identity.", email: "The address for notices.", profile: "The picture." },
      },
    },
    description:
      "A login at the app's own identity provider. Its ID token, access token or code is not sent in a header: it is " +
      "the member `token` of a login in the body of `signUp`, `issueChallenge` and `requestTwoFactor`.",
  },
};

const SCHEME_OF = { full: "accessToken", sign: "ephemeralAccessToken", recover: "recoveryAccessToken" } as const;

function securityOf(row: Route): Record<string, string[]>[] {
  if (row.token === "none") return [];
  const schemes = allowedScopes(row).map((scope) => ({ [SCHEME_OF[scope]]: [] }));
  return row.token === "optional" ? [{}, ...schemes] : schemes;
}

const header = (description: string, schema: oas31.SchemaObject): oas31.HeaderObject => ({ description, schema });

const HEADERS: Record<string, oas31.HeaderObject> = {
  "X-Request-Id": header("The id of the request in logs: its own, where that was valid.", {
    type: "string",
    pattern: "^[A-Za-z0-9._-]{8,64}$",
    examples: ["0f8fad5b-d9cb-469f-a165-70867728950e"],
  }),
  "Retry-After": header("Seconds until a repetition may succeed; absent where waiting does not help.", {
    type: "integer",
    minimum: 1,
    examples: [2],
  }),
  Allow: header("The methods of the path.", { type: "string", examples: ["GET, HEAD, POST"] }),
  "WWW-Authenticate": header("Present only where the access token was the problem (RFC 6750).", {
    type: "string",
    examples: ['Bearer realm="countersign", error="invalid_token", error_description="The access token has expired"'],
  }),
};

const headersOf = (...names: string[]): Record<string, oas31.ReferenceObject> =>
  Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const optional = { param: { required: false } };
const IDEMPOTENCY_KEY = z
  .string()
  .regex(/^[\x21\x23-\x7e]{1,255}$/)
  .optional()
  .meta({
    ...optional,
    description: "Makes a repetition of the same request return the same result. 1 to 255 visible ASCII characters.",
    examples: ["5f2b6a3e-4f0c-4a61-9d1c-0c3f5f0e7a11"],
  });
const LAST_EVENT_ID = z
  .string()
  .regex(/^[0-9]{1,20}$/)
  .optional()
  .meta({
    ...optional,
    description: "The id of the last received event: the stream resumes after it.",
    examples: ["4711"],
  });

/** Errors that the server answers to any request, and the codes of the path that they are documented at. */
export const OF_ANY_REQUEST = ["MethodNotAllowed", "RequestTimeout", "PayloadTooLarge", "HeadersTooLarge"] as const;

function operationOf(row: Route): ZodOpenApiOperationObject {
  const { params, query, body, documentedBody = body } = row.request;
  return {
    operationId: row.operationId,
    summary: row.summary,
    description: row.description,
    tags: [row.tag],
    requestParams: {
      ...(params && { path: params }),
      ...(query && { query }),
      ...(row.idempotencyKey && { header: z.object({ "Idempotency-Key": IDEMPOTENCY_KEY }) }),
      ...(row.events && { header: z.object({ "Last-Event-ID": LAST_EVENT_ID }) }),
    },
    ...(documentedBody && {
      requestBody: { required: true, content: { "application/json": { schema: documentedBody } } },
    }),
    responses: { [row.status]: successOf(row), ...problemsOf(row) },
    security: securityOf(row),
  };
}

function successOf({ events, response, documentedResponse = response }: Route) {
  const headers = headersOf();
  if (events !== undefined) {
    const schemas = eventSchemas();
    const schema: oas31.SchemaObject = {
      type: "string",
      description: "Events; `x-events` has the schema of each event's `data`, by its name.",
      examples: ['id: 4711\nevent: account.updated\ndata: {"change":"changed"}\n\n'],
      "x-events": Object.fromEntries(
        Object.entries(ACCOUNT_EVENTS).map(([name, data]) => [name, schemas[data.meta()?.id as string]]),
      ),
    };
    return { description: "Events until the session ends.", headers, content: { "text/event-stream": { schema } } };
  }
  if (documentedResponse === undefined) return { description: "Done; the answer has no body.", headers };
  const description = documentedResponse.meta()?.description ?? "Done.";
  return { description, headers, content: { "application/json": { schema: documentedResponse } } };
}

/** Returns one response per status, which names its possible reasons. */
function problemsOf(row: Route) {
  const reasons = new Set<Reason>([...row.errors, "InvalidRequest", "Unavailable", "DeadlineExceeded", "Internal"]);
  const add = (...others: Reason[]) => others.forEach((reason) => void reasons.add(reason));
  if (row.request.body) add("UnsupportedMediaType");
  if (row.token === "user" || row.token === "ephemeral") {
    add("Unauthenticated", "InvalidAccessToken", "AccessTokenExpired", "SessionEnded");
    if (allowedScopes(row).length < SCOPES.length) add("InsufficientScope");
  }
  const byStatus = Map.groupBy(reasons, (reason) => REASONS[reason].http);
  return {
    ...Object.fromEntries([...byStatus].map(([status, group]) => [status, problemResponse(group, row.beyondSchema)])),
    ...Object.fromEntries(
      OF_ANY_REQUEST.map((reason) => [REASONS[reason].http, { $ref: `#/components/responses/${reason}` }]),
    ),
  };
}

/** Errors that end by themselves, or may; every 429 has Retry-After. */
const MAY_RETRY: readonly number[] = [403, 409, 429, 503];

/**
 * Returns the response of a status with these reasons. `beyondSchema` names the pointers that InvalidRequest
 * may refuse although the schema accepts them.
 */
function problemResponse(reasons: readonly Reason[], beyondSchema: Route["beyondSchema"] = {}) {
  const [first] = reasons as [Reason];
  const status = REASONS[first].http;
  const refused = reasons.includes("InvalidRequest") ? Object.entries(beyondSchema) : [];
  const lines = [
    ...reasons.map((reason) => `- \`${reason}\`: ${REASONS[reason].title}`),
    ...refused.map(([pointer, why]) => `- \`InvalidRequest\` at \`${pointer}\`: ${why}`),
  ];
  return {
    description: lines.join("\n"),
    headers: headersOf(
      ...(MAY_RETRY.includes(status) ? ["Retry-After"] : []),
      ...(status === 405 ? ["Allow"] : []),
      ...(status === 401 || reasons.includes("InsufficientScope") ? ["WWW-Authenticate"] : []),
    ),
    content: {
      "application/problem+json": {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(reasons.map((reason) => [reason, { $ref: `#/components/examples/${reason}` }])),
      },
    },
    "x-error-codes": reasons,
    ...(refused.length > 0 && { "x-beyond-schema": refused.map(([pointer]) => pointer) }),
  };
}

/** Returns a problem document as an example for each code that an operation names. */
function examplesOf(paths: ZodOpenApiPathsObject): Record<string, oas31.ExampleObject> {
  const responses = Object.values(paths).flatMap((methods) =>
    (Object.values(methods) as ZodOpenApiOperationObject[]).flatMap((each) => Object.values(each.responses ?? {})),
  ) as { "x-error-codes"?: Reason[] }[];
  const reasons = new Set([...OF_ANY_REQUEST, ...responses.flatMap((each) => each["x-error-codes"] ?? [])]);
  return Object.fromEntries([...reasons].map((reason) => [reason, exampleProblem(reason)]));
}

function exampleProblem(reason: Reason): oas31.ExampleObject {
  const value = problemOf(new AppError(reason), "0f8fad5b-d9cb-469f-a165-70867728950e");
  return { summary: value.title, value };
}

/** Adds an example to each JSON body, made from the examples of its members. */
function addExamples(document: oas31.OpenAPIObject): void {
  const schemas = (document.components?.schemas ?? {}) as Record<string, oas31.SchemaObject>;
  const add = (content: oas31.ContentObject | undefined) => {
    const media = content?.["application/json"];
    if (media?.schema) media.example = exampleOf(media.schema as oas31.SchemaObject, schemas);
  };
  for (const methods of Object.values(document.paths ?? {})) {
    for (const { requestBody, responses } of Object.values(methods) as oas31.OperationObject[]) {
      add((requestBody as oas31.RequestBodyObject | undefined)?.content);
      for (const response of Object.values(responses ?? {})) add((response as oas31.ResponseObject).content);
    }
  }
}

/** Returns an example of a schema. Optional members whose default is "" are left out. */
function exampleOf(schema: oas31.SchemaObject, schemas: Record<string, oas31.SchemaObject>): unknown {
  if (schema.examples !== undefined) return schema.examples[0];
  const name = (schema as { $ref?: string }).$ref?.split("/").at(-1);
  const next = name === undefined ? (schema.allOf ?? schema.oneOf ?? schema.anyOf)?.[0] : schemas[name];
  if (next !== undefined) return exampleOf(next as oas31.SchemaObject, schemas);
  if (schema.type === "array") return [exampleOf(schema.items as oas31.SchemaObject, schemas)];
  if (schema.properties === undefined) throw new Error(`no example for ${JSON.stringify(schema)}`);
  const members = Object.entries(schema.properties as Record<string, oas31.SchemaObject>);
  return Object.fromEntries(
    members.filter(([, { default: value }]) => value !== "").map(([key, each]) => [key, exampleOf(each, schemas)]),
  );
}
