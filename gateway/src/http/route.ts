import { type FieldError, invalidFields, type Logger, type Reason, type TokenVerifier } from "@countersign/core";
import type { Request, RequestHandler, Response } from "express";
import type { z } from "zod";
import { authenticate, type TokenKind } from "./authenticate.ts";
import { readJsonBody } from "./body.ts";
import { createCall, type HttpCall, readIdempotencyKey } from "./call.ts";
import { readLastEventId, type ServerSentEvent, sendEventStream } from "./event-stream.ts";

export type Method = "get" | "post" | "put" | "delete";

/** A request's validated parts. */
export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
}

/** The parts of the API, by which documents and generated clients group operations. */
export const TAGS = {
  Auth: "Signing up, signing in, on a new device too, and sessions.",
  Account: "The account, its networks, parents, time locks and server key.",
  Devices: "The account's devices and keys, requests to enroll new devices, and the stream of events.",
  Signing: "The server's and the paymaster's signatures.",
} as const;
export type Tag = keyof typeof TAGS;

/** A row of the route table: with a handler that answers once, or with a stream of server-sent events. */
export interface Route {
  tag: Tag;
  method: Method;
  /** As in OpenAPI: `/device/v1/devices/{publicKey}`. */
  path: string;
  operationId: string;
  summary: string;
  /** For the document, beside the summary. */
  description: string;
  token: TokenKind;
  /** Whether a session of a recovery key may use it. */
  recover: boolean;
  status: 200 | 204;
  idempotencyKey: boolean;
  /** The reasons of this route; the OpenAPI document adds those of every route. */
  errors: readonly Reason[];
  /** `documentedBody` replaces `body` in the document, where it says more. */
  request: { params?: z.ZodObject; query?: z.ZodObject; body?: z.ZodType; documentedBody?: z.ZodType };
  /** Pointers that the service may refuse with InvalidRequest although the schema accepts them, and why. */
  beyondSchema?: Readonly<Record<string, string>>;
  /** Absent for 204. */
  response?: z.ZodType;
  /** Takes the place of `response` in the document. */
  documentedResponse?: z.ZodType;
  handler(input: Input<unknown, unknown, unknown>, call: HttpCall): Promise<unknown>;
  events?(call: HttpCall): AsyncIterable<ServerSentEvent>;
}

/** A row before the table has put it under a tag. */
export type UntaggedRoute = Omit<Route, "tag">;

/**
 * A row as it is written: members with a default are optional, and the handler's types follow from the
 * schemas.
 */
export interface RouteDefinition<P extends z.ZodObject, Q extends z.ZodObject, B extends z.ZodType, R extends z.ZodType>
  extends Pick<Route, "method" | "path" | "operationId" | "summary" | "description" | "token">,
    Partial<Pick<Route, "recover" | "idempotencyKey" | "errors" | "beyondSchema" | "documentedResponse">> {
  request?: { params?: P; query?: Q; body?: B; documentedBody?: z.ZodType };
  response?: R;
  /** Without a response schema its result is ignored. */
  handler(
    input: Input<z.output<P>, z.output<Q>, z.output<B>>,
    call: HttpCall,
  ): Promise<R extends z.ZodUndefined ? unknown : z.input<R>>;
}

/** Returns a row. It answers 200 with a response schema, and 204 without one. */
export function route<
  P extends z.ZodObject = never,
  Q extends z.ZodObject = never,
  B extends z.ZodType = z.ZodUndefined,
  R extends z.ZodType = z.ZodUndefined,
>(definition: RouteDefinition<P, Q, B, R>): UntaggedRoute {
  return {
    recover: false,
    idempotencyKey: false,
    errors: [],
    status: definition.response === undefined ? 204 : 200,
    ...definition,
    request: definition.request ?? {},
    handler: definition.handler as Route["handler"],
  };
}

/** Returns a row that answers with server-sent events until the client or the server ends the stream. */
export function eventRoute(
  definition: Pick<Route, "path" | "operationId" | "summary" | "description" | "token" | "recover" | "errors"> & {
    /** Ends with the call's signal. */
    events(call: HttpCall): AsyncIterable<ServerSentEvent>;
  },
): UntaggedRoute {
  return {
    method: "get",
    idempotencyKey: false,
    status: 200,
    request: {},
    handler: async () => undefined,
    ...definition,
  };
}

/** The parts that all handlers share. */
export interface RouteParts {
  verifier: TokenVerifier;
  logger: Logger;
  /** Milliseconds without an event until a comment is sent on an event stream. */
  heartbeatMs: number;
  /** Aborts when the server begins to stop: streams end, and their clients connect to another server. */
  stopping: AbortSignal;
}

/** Milliseconds until the first message of a stream, and until a client that reads nothing is dropped. */
const STREAM_LIMITS = { firstMs: 3_000, stuckMs: 10_000 };

/** Returns the express handler of a row: authenticate, read, validate, call, answer. */
export function toExpressHandler(row: Route, { verifier, heartbeatMs, stopping }: RouteParts): RequestHandler {
  return async (request, response) => {
    response.locals.takesToken = row.token === "user" || row.token === "ephemeral";
    const { rawToken, accountId } = authenticate(row, request.headersDistinct.authorization ?? [], verifier);
    response.locals.accountId = accountId;
    const idempotencyKey = row.idempotencyKey ? readIdempotencyKey(request.headers["idempotency-key"]) : "";
    const input = await readInput(row, request);
    if (row.events !== undefined) {
      const lastEventId = readLastEventId(request.headers["last-event-id"]);
      // HEAD has the headers of GET, without a stream.
      if (request.method === "HEAD") return void response.type("text/event-stream").end();
      const call = createCall(request, response, { rawToken, idempotencyKey, lastEventId, stopping });
      return sendEventStream(response, row.events(call), { heartbeatMs, ...STREAM_LIMITS });
    }
    const call = createCall(request, response, { rawToken, idempotencyKey, lastEventId: "" });
    const answer = await row.handler(input, call);
    response.locals.accountId ??= call.accountId;
    if (row.status === 204) response.status(204).end();
    else sendJson(response, row.status, answer);
  };
}

/** Sends JSON. `response.json` also parses the Content-Type that it sets, with regular expressions. */
function sendJson(response: Response, status: number, answer: unknown): void {
  const text = JSON.stringify(answer);
  const headers = { "Content-Type": "application/json; charset=utf-8", "Content-Length": Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}

async function readInput(row: Route, request: Request): Promise<Input<unknown, unknown, unknown>> {
  const body = row.request.body === undefined ? undefined : await readJsonBody(request);
  const problems: FieldError[] = [];
  const input = {
    params: row.request.params && check(row.request.params, request.params, problems),
    query: row.request.query && check(row.request.query, request.query, problems),
    body: row.request.body && check(row.request.body, body, problems),
  };
  if (problems.length > 0) throw invalidFields(problems.slice(0, 20));
  return input;
}

function check(schema: z.ZodType, value: unknown, problems: FieldError[]): unknown {
  const result = schema.safeParse(value, { error: ({ input }) => (input === undefined ? "Required" : undefined) });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    problems.push({ pointer: jsonPointer(issue.path), detail: issue.message });
  }
  return undefined;
}

/** Returns a JSON pointer (RFC 6901). */
function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
