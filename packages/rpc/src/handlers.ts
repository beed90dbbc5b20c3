import type { CallContext } from "./context.ts";
import type { IsTrue, RequestOf, ResponseOf, ServiceDefinition } from "./definition.ts";

type Stream<T> = AsyncIterable<T>;

/** Handles one RPC: a function of the request and the call. */
export type Handler<M> =
  IsTrue<M, "requestStream"> extends true
    ? IsTrue<M, "responseStream"> extends true
      ? (requests: Stream<RequestOf<M>>, call: CallContext) => Stream<ResponseOf<M>>
      : (requests: Stream<RequestOf<M>>, call: CallContext) => Promise<ResponseOf<M>>
    : IsTrue<M, "responseStream"> extends true
      ? (request: RequestOf<M>, call: CallContext) => Stream<ResponseOf<M>>
      : (request: RequestOf<M>, call: CallContext) => Promise<ResponseOf<M>>;

/** All RPCs of a service, by ts-proto's lower-camel names. */
export type Handlers<D extends ServiceDefinition> = { [K in keyof D]: Handler<D[K]> };
