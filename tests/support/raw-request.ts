import { request as httpRequest } from "node:http";
import { expect } from "vitest";
import { stack } from "./person.ts";

const gateway = new URL(stack.gateway);
const INTERNALS = /node_modules|\bat [\w.<>]+ \(|\.ts:\d|prisma|postgres|ECONN|grpc|127\.0\.0\.1|stack trace/i;

/** An answer without any processing, and the time that it took. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: documents of every route
  body: any;
  ms: number;
}

export interface RawRequest {
  method: string;
  path: string;
  token?: string | undefined;
  /** Sent as it is; an object is sent as JSON. */
  body?: unknown;
  /** Values may be arrays: one header line each. */
  headers?: Record<string, string | string[]>;
  /** Chunked instead of with a length. */
  chunked?: boolean;
}

/** Sends a request as it is; `fetch` would correct or refuse some of them. */
export function send({ method, path, token, body, headers = {}, chunked }: RawRequest): Promise<RawAnswer> {
  const bytes =
    body === undefined ? undefined : Buffer.isBuffer(body) || typeof body === "string" ? body : JSON.stringify(body);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        host: "127.0.0.1",
        port: gateway.port,
        method,
        path,
        agent: false,
        timeout: 35_000,
        headers: {
          host: gateway.host,
          ...(bytes === undefined ? {} : { "content-type": "application/json" }),
          ...(bytes === undefined || chunked ? {} : { "content-length": Buffer.byteLength(bytes) }),
          ...(chunked ? { "transfer-encoding": "chunked" } : {}),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      async (incoming) => {
        const chunks: Buffer[] = [];
        // A stream of events does not end by itself: that it was opened is the answer.
        const endless = /^text\/event-stream/.test(incoming.headers["content-type"] ?? "");
        if (endless) incoming.destroy();
        try {
          if (!endless) for await (const chunk of incoming) chunks.push(chunk);
        } catch (error) {
          return reject(error);
        }
        const text = Buffer.concat(chunks).toString();
        const json = /json/.test(incoming.headers["content-type"] ?? "") && text !== "";
        resolve({
          status: incoming.statusCode!,
          headers: incoming.headers,
          text,
          body: json ? JSON.parse(text) : undefined,
          ms: performance.now() - started,
        });
      },
    );
    outgoing.on("error", reject).on("timeout", () => outgoing.destroy(new Error("no answer in 35 s")));
    outgoing.end(bytes);
  });
}

/** Sends a request as it is; see `send`. */
export const call = (method: string, path: string, options: Omit<RawRequest, "method" | "path"> = {}) =>
  send({ method, path, ...options });

/** Expects a complete problem document with this status and error that contains no secret. */
export function expectProblem(answer: RawAnswer, status: number | number[], error?: string | string[]): void {
  const statuses = [status].flat();
  expect(statuses, answer.text).toContain(answer.status);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  expect(answer.body).toMatchObject({
    type: `urn:countersign:error:${answer.body.error}`,
    title: expect.stringMatching(/./),
    status: answer.status,
    detail: expect.stringMatching(/./),
    instance: answer.headers["x-request-id"],
    error: expect.stringMatching(/^[A-Z]\w+$/),
  });
  expect(answer.headers["x-request-id"]).toMatch(/^[\w.-]{8,64}$/);
  for (const each of answer.body.errors ?? []) {
    expect(each).toEqual({ pointer: expect.any(String), detail: expect.stringMatching(/./) });
  }
  expect(answer.text).not.toMatch(INTERNALS);
  if (error !== undefined) expect([error].flat(), answer.text).toContain(answer.body.error);
  // Only if the access token was the problem; SessionEnded may be about a refresh token.
  const aboutToken = ["Unauthenticated", "InvalidAccessToken", "AccessTokenExpired", "InsufficientScope"];
  const challenge = answer.headers["www-authenticate"];
  if (aboutToken.includes(answer.body.error)) expect(challenge).toMatch(/^Bearer realm="countersign"/);
  else if (answer.body.error !== "SessionEnded") expect(challenge, answer.text).toBeUndefined();
  if (answer.status === 429) expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
}
