import { AppError } from "@countersign/errors";
import type { SigningService, SignStreamRequest, SignStreamResponse } from "@countersign/proto/signer/v1/signing.ts";
import { type CallContext, type Handler, type TokenVerifier, toAppError } from "@countersign/service-kit";
import type { signPaymaster } from "../domain/sign-paymaster.ts";
import type { signTransaction } from "../domain/sign-transaction.ts";
import { toSigned } from "./messages.ts";

export interface SignStreamOptions {
  readonly transaction: ReturnType<typeof signTransaction>;
  readonly paymaster: ReturnType<typeof signPaymaster>;
  readonly verifier: TokenVerifier;
}

/** Requests of a stream that are worked on at once; more wait unread, so that a fast caller is slowed down. */
const CONCURRENCY = 256;

async function answer(
  options: SignStreamOptions,
  request: SignStreamRequest,
  call: CallContext,
): Promise<SignStreamResponse> {
  const { id, accessToken } = request;
  try {
    // Each request speaks for its own user; the stream itself for nobody.
    const token = options.verifier.verify(accessToken);
    const operation = request.transaction ?? request.paymaster;
    if (!operation) throw new AppError("InvalidRequest", { detail: "no operation" });
    const run = request.transaction ? options.transaction : options.paymaster;
    return { id, signed: toSigned(await run({ ...operation, token, caller: call.caller })) };
  } catch (error) {
    const { reason, detail, metadata, retryAfterSeconds = 0 } = toAppError(error);
    if (reason === "Internal") call.logger.error({ err: error }, "signing failed");
    return { id, refusal: { reason, detail, rule: metadata.reason ?? "", retryAfterSeconds } };
  }
}

/** signer.v1.Signing/SignStream: answers come as they are ready, in any order. */
export const signStreamRpc = (options: SignStreamOptions): Handler<SigningService["signStream"]> =>
  async function* signStream(requests, call) {
    const running = new Set<Promise<SignStreamResponse>>();
    const ready: SignStreamResponse[] = [];
    let wake = Promise.withResolvers<void>();
    let ended = false;
    const reading = (async () => {
      for await (const request of requests) {
        const work = answer(options, request, call).then((response) => {
          running.delete(work);
          ready.push(response);
          wake.resolve();
          return response;
        });
        running.add(work);
        while (running.size >= CONCURRENCY) await Promise.race(running);
      }
    })().finally(() => {
      ended = true;
      wake.resolve();
    });
    reading.catch(() => undefined);
    for (;;) {
      while (ready.length > 0) yield ready.shift()!;
      if (ended && running.size === 0 && ready.length === 0) break;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
    await reading;
  };
