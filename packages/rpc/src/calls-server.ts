import { AppError } from "@countersign/core";
import type { Answer, Call, CallsService } from "@countersign/proto/rpc/v1/calls.ts";
import type { ServerDuplexStream } from "@grpc/grpc-js";
import type { AuthContext } from "@grpc/grpc-js/build/src/auth-context.js";
import { answerItems } from "./answer-items.ts";
import type { CallContext } from "./context.ts";
import type { AnyMethod } from "./definition.ts";
import { encodeStatus } from "./errors.ts";
import type { Handler } from "./handlers.ts";
import { InFlight } from "./in-flight.ts";
import { MAX_MESSAGE_BYTES } from "./message-size.ts";
import { AUTHORIZATION, CLIENT_IP, REQUEST_ID, TRACEPARENT } from "./metadata.ts";
import { type IncomingCall, ServerCall } from "./server-call.ts";
import type { RunningCall, ServerRuntime } from "./server-options.ts";

export interface UnaryMethod {
  definition: AnyMethod;
  handle(request: unknown, context: CallContext): Promise<unknown>;
}

/** The name of unknown methods in metrics and logs: the caller's own text would be a new series each time. */
const UNKNOWN = "unknown";

/** An answer's id and framing take the rest of a message. */
const MAX_RESPONSE_BYTES = MAX_MESSAGE_BYTES - 64;
const bytesOf = ({ response, status }: Answer): number => (response ?? status ?? []).length + 16;

type StreamOfCalls = Pick<ServerDuplexStream<unknown, unknown>, "getAuthContext" | "on">;

/**
 * A call as if it had come alone: certificate and cancellation are the stream's, all else its own. A class,
 * as in server-call.ts.
 */
class StreamedCall implements IncomingCall, RunningCall {
  id = 0;
  readonly #auth: AuthContext;
  readonly #call: Call;
  readonly #running: InFlight<RunningCall>;
  readonly #deadline: Date;
  #cancel: (() => void) | undefined;

  constructor(auth: AuthContext, call: Call, running: InFlight<RunningCall>) {
    this.#auth = auth;
    this.#call = call;
    this.#running = running;
    this.#deadline = new Date(Date.now() + call.timeoutMs);
  }

  get metadata(): this {
    return this;
  }

  get(key: string): string[] {
    const value = this.#valueOf(key);
    return value === "" ? [] : [value];
  }

  #valueOf(key: string): string {
    const { requestId, traceparent, clientIp, accessToken } = this.#call;
    if (key === REQUEST_ID) return requestId;
    if (key === TRACEPARENT) return traceparent;
    if (key === CLIENT_IP) return clientIp;
    return key === AUTHORIZATION && accessToken !== "" ? `Bearer ${accessToken}` : "";
  }

  getAuthContext(): AuthContext {
    return this.#auth;
  }

  getDeadline(): Date {
    return this.#deadline;
  }

  on(_event: "cancelled", cancel: () => void): void {
    this.#cancel = cancel;
    this.#running.add(this);
  }

  off(): void {
    this.#running.take(this.id);
  }

  stop(): void {
    this.#cancel?.();
  }
}

/** Handles rpc.v1.Calls: unary calls of one peer, each checked against its own row of the caller table. */
export function callsHandler(runtime: ServerRuntime, methods: ReadonlyMap<string, UnaryMethod>) {
  const answer = async (incomingCall: IncomingCall, { id, method: name, request: bytes }: Call): Promise<Answer> => {
    const method = methods.get(name);
    const state = new ServerCall(runtime, method === undefined ? UNKNOWN : name, incomingCall, { stream: false });
    try {
      const context = state.authorize();
      // Only for the type: the caller table has no row of an unknown method.
      if (method === undefined) throw new AppError("CallerNotAllowed");
      const request = method.definition.requestDeserialize(bytes as Buffer);
      state.about(request);
      const answered = await state.run(() => method.handle(request, context));
      const response = method.definition.responseSerialize(answered);
      // It would break the stream for the other calls.
      if (response.length > MAX_RESPONSE_BYTES) throw new Error(`the response has ${response.length} bytes`);
      state.end();
      return { id, response };
    } catch (error) {
      return { id, status: encodeStatus(state.fail(error)) };
    }
  };
  const stream: Handler<CallsService["stream"]> = async function* stream(messages, outer) {
    const grpcCall = messages as unknown as StreamOfCalls;
    // Once per stream: parsing a certificate costs more than most calls.
    const auth = grpcCall.getAuthContext();
    const streamCalls = new InFlight<RunningCall>();
    grpcCall.on("cancelled", () => {
      for (const call of streamCalls.all()) call.stop();
    });
    const work = (call: Call) => answer(new StreamedCall(auth, call, streamCalls), call);
    yield* answerItems(callsOf(messages), outer, work, bytesOf);
  };
  return { stream };
}

async function* callsOf(messages: AsyncIterable<{ calls: Call[] }>): AsyncGenerator<Call[]> {
  for await (const { calls } of messages) yield calls;
}
