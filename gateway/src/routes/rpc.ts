import type { RpcCallOptions } from "@countersign/rpc";
import type { HttpCall } from "../http/call.ts";

/**
 * Deadlines in milliseconds. A sign-up waits up to 20 s for the chain; an approval waits for a submission or
 * for reads of the chain, a little longer than the device service gives it; an enrollment waits for the
 * identity provider or for its registration.
 */
export const DEADLINES = {
  unary: 3_000,
  chain: 8_000,
  signUp: 25_000,
  signer: 2_000,
  enrollment: 8_000,
  approval: 12_500,
} as const;

/**
 * Returns the options of a call that is sent once: it grants something, and a second attempt could grant it
 * twice.
 */
export const once = (call: HttpCall, deadlineMs: number = DEADLINES.unary): RpcCallOptions => ({
  onBehalfOf: call,
  deadlineMs,
  clientIp: call.clientIp || undefined,
});

/**
 * Returns the options of a call that is sent again when the service was unavailable: two calls have the
 * effect of one.
 */
export const repeatable = (call: HttpCall, deadlineMs?: number): RpcCallOptions => ({
  ...once(call, deadlineMs),
  idempotent: true,
});
