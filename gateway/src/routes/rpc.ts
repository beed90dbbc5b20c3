import type { CallContext } from "@countersign/rpc";

/** How a route calls a service: on behalf of a request, with a deadline. */
export interface RpcOptions {
  call: CallContext;
  deadlineMs: number;
}

/** One unary RPC, as the routes see it. Rejects with an AppError. */
export type Rpc<Request, Response> = (request: Request, options: RpcOptions) => Promise<Response>;

/** One RPC that answers with a stream, which ends with the call's signal. */
export type StreamRpc<Request, Response> = (
  request: Request,
  options: Pick<RpcOptions, "call">,
) => AsyncIterable<Response>;

/**
 * Deadlines in milliseconds. A sign-up waits for the chain, up to 20 s; an approval for a transaction to be submitted, a little longer than the
 * device service gives it; a new device for its provider or its registration.
 */
export const DEADLINES = {
  unary: 3_000,
  chain: 8_000,
  signUp: 25_000,
  signer: 2_000,
  newDevice: 8_000,
  approval: 12_500,
} as const;
