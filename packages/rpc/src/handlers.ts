import type { CallContext } from "./context.ts";
import type { InputOf, OutputOf, ServiceDefinition } from "./definition.ts";

/** Handles one RPC: a function of the request, or of the stream of requests, and the call. */
export type Handler<M> = (input: InputOf<M>, call: CallContext) => OutputOf<M>;

/** All RPCs of a service, by ts-proto's lower-camel names. */
export type Handlers<D extends ServiceDefinition> = { [K in keyof D]: Handler<D[K]> };
