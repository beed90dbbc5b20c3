import { asOperation, asWatched } from "@countersign/core";
import { CallsService } from "@countersign/proto/rpc/v1/calls.ts";
import {
  Server,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { HealthImplementation } from "grpc-health-check";
import { callsHandler, type UnaryMethod } from "./calls-server.ts";
import type { CallContext } from "./context.ts";
import { type AnyMethod, rpcName, type ServiceDefinition } from "./definition.ts";
import { encodeError } from "./errors.ts";
import type { Handlers } from "./handlers.ts";
import { InFlight } from "./in-flight.ts";
import { MAX_MESSAGE_BYTES } from "./message-size.ts";
import { addReflection } from "./reflection.ts";
import { ServerCall } from "./server-call.ts";
import type { RpcServerOptions, RunningCall, ServerRuntime } from "./server-options.ts";
import { pump } from "./streams.ts";
import { listenTls } from "./tls-listener.ts";

export interface RpcServer {
  add<D extends ServiceDefinition>(definition: D, handlers: Handlers<D>): RpcServer;
  /** Starts to listen on "host:port". Returns the port. */
  listen(address: string): Promise<{ port: number }>;
  /** Returns the names of its RPCs; each has a row of the caller table. */
  rpcs(): string[];
  /** Takes no further calls, lets running ones finish, and ends them after `drainMs`. */
  stop(drainMs?: number): Promise<void>;
}

/**
 * Milliseconds after which a connection takes no further calls, up to a tenth more or less, so that backends,
 * whose clients may not replace connections themselves (connections.ts), find new replicas.
 */
const MAX_CONNECTION_AGE_MS = 600_000;

/** Unary calls of one peer on one stream; it is offered only if the caller table lists it. */
const CALLS = "rpc.v1.Calls/Stream";

/**
 * Creates a gRPC server over mutual TLS; the caller table decides who may call each RPC and which token it
 * needs.
 */
export function createRpcServer(options: RpcServerOptions): RpcServer {
  const { logger } = options;
  const peers = asWatched(options.peers);
  const server = new Server({
    "grpc.max_receive_message_length": options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    "grpc.max_connection_age_ms": MAX_CONNECTION_AGE_MS,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.max_concurrent_streams": 10_000,
    "grpc.enable_channelz": 0,
  });
  const draining = new AbortController();
  const runningCalls = new InFlight<RunningCall>();
  const runtime: ServerRuntime = { options, peers, draining: draining.signal, runningCalls };
  const services = new Set<string>();
  const rpcs: string[] = [];
  let listener: Awaited<ReturnType<typeof listenTls>> | undefined;
  const unary = new Map<string, UnaryMethod>();
  const health = new HealthImplementation({ "": "NOT_SERVING" });
  /** Of each service, and of the server as a whole. */
  const setHealth = (status: "SERVING" | "NOT_SERVING") => {
    for (const name of ["", ...services]) health.setStatus(name, status);
  };

  const result: RpcServer = {
    rpcs: () => rpcs,
    add(definition, handlers) {
      const implementation: Record<string, (...args: never[]) => void> = {};
      for (const [key, method] of Object.entries(definition)) {
        const handler = (handlers as Record<string, unknown>)[key];
        const name = rpcName(method);
        const rule = peers.current().rule(name);
        if (rule === undefined) throw new Error(`${name} is not in the caller table: add its row of deploy/peers.json`);
        if (rule.token !== "service" && options.tokenVerifier === undefined)
          throw new Error(`${name} needs a token verifier`);
        if (typeof handler !== "function") throw new Error(`${name} has no handler`);
        const isUnary = !method.requestStream && !method.responseStream;
        const bound = handler.bind(handlers) as AnyHandler;
        const handle = isUnary ? asOperation(name.split("/")[1]!, bound) : bound;
        implementation[key] = wrap(runtime, method, handle) as never;
        if (isUnary) unary.set(name, { definition: method, handle });
        services.add(name.split("/")[0]!);
        rpcs.push(name);
      }
      server.addService(definition, implementation as never);
      return result;
    },
    async listen(address) {
      if (peers.current().rule(CALLS) !== undefined) result.add(CallsService, callsHandler(runtime, unary));
      health.addToServer(guarded(server, runtime) as Parameters<typeof health.addToServer>[0]);
      addReflection(guarded(server, runtime), services);
      listener = await listenTls(server, address, asWatched(options.tls), options.moveMs);
      const { port } = listener;
      setHealth("SERVING");
      logger.info({ component: "rpc", address, port }, "listening");
      return { port };
    },
    async stop(drainMs = 10_000) {
      setHealth("NOT_SERVING");
      draining.abort();
      const drained = (async () => {
        await listener?.close();
        await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
        // grpc-js waits for the calls of its own listeners only.
        await listener?.ended();
      })();
      const timer = setTimeout(() => {
        for (const call of runningCalls.all()) call.stop();
        server.forceShutdown();
        listener?.destroy();
      }, drainMs);
      await drained;
      clearTimeout(timer);
    },
  };
  return result;
}

// biome-ignore lint/suspicious/noExplicitAny: one handler for all four kinds of RPC; `Handlers` is typed
type AnyHandler = (request: any, call: CallContext) => any;
type AnyCall = ServerUnaryCall<unknown, unknown> &
  ServerReadableStream<unknown, unknown> &
  ServerWritableStream<unknown, unknown> &
  ServerDuplexStream<unknown, unknown>;

/** Returns the handler as grpc-js calls it. */
function wrap(runtime: ServerRuntime, method: AnyMethod, handler: AnyHandler) {
  const name = rpcName(method);
  // Node 26 would destroy the call after the caller's last request, and the answers with it.
  const requestsOf = (call: AnyCall) =>
    Object.assign(call, { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) });
  const inputOf = (call: AnyCall) => (method.requestStream ? requestsOf(call) : call.request);
  const answerOnce = async (call: AnyCall, callback: sendUnaryData<unknown>): Promise<void> => {
    const state = new ServerCall(runtime, name, call, { stream: false });
    try {
      const context = state.authorize();
      state.about(call.request ?? {});
      const response = await state.run(async () => handler(inputOf(call), context));
      state.end();
      callback(null, response);
    } catch (error) {
      callback(failed(state, error));
    }
  };
  const answerByStream = async (call: AnyCall): Promise<void> => {
    const state = new ServerCall(runtime, name, call, { stream: true });
    try {
      const context = state.authorize();
      await pump(handler(inputOf(call), context), call, context.signal);
      state.end();
      call.end();
    } catch (error) {
      call.emit("error", failed(state, error));
    }
  };
  return method.responseStream ? answerByStream : answerOnce;
}

/** Ends the call, and returns the error that the caller gets. */
function failed(state: ServerCall, error: unknown) {
  const appError = state.fail(error);
  return Object.assign(new Error(appError.detail), encodeError(appError));
}

/** Returns a view of the server for services of other packages: the caller table applies to them as well. */
function guarded(server: Server, runtime: ServerRuntime): Pick<Server, "addService"> {
  return {
    addService(definition, implementation) {
      const wrapped: Record<string, unknown> = {};
      for (const [key, method] of Object.entries(definition)) {
        const original = implementation[key] ?? (method.originalName ? implementation[method.originalName] : undefined);
        if (original === undefined) continue;
        wrapped[key] = (call: AnyCall, callback?: sendUnaryData<unknown>) => {
          const state = new ServerCall(runtime, rpcName(method), call, { stream: method.responseStream, quiet: true });
          try {
            state.authorize();
          } catch (error) {
            const failure = failed(state, error);
            if (callback === undefined) call.emit("error", failure);
            else callback(failure);
            return;
          }
          state.end();
          (original as (...args: unknown[]) => void).call(implementation, call, callback);
        };
      }
      server.addService(definition, wrapped as never);
    },
  };
}
