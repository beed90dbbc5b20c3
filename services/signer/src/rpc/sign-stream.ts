import { AppError, type TokenVerifier, toAppError } from "@countersign/core";
import type {
  SignAnswer,
  SigningService,
  SignRequest,
  SignStreamRequest,
} from "@countersign/proto/signer/v1/signing.ts";
import { answerStream, type CallContext, type Handler } from "@countersign/rpc";
import type { signPaymaster } from "../domain/sign-paymaster.ts";
import type { signTransaction } from "../domain/sign-transaction.ts";
import { toSigned } from "./messages.ts";

export interface SignStreamOptions {
  readonly transaction: ReturnType<typeof signTransaction>;
  readonly paymaster: ReturnType<typeof signPaymaster>;
  readonly verifier: TokenVerifier;
}

async function answer(options: SignStreamOptions, request: SignRequest, call: CallContext): Promise<SignAnswer> {
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
    if (reason === "Internal") call.logger.error({ err: error, requestId: request.requestId }, "signing failed");
    const { reason: rule = "", availableAt = "", timeLockId = "" } = metadata;
    return { id, refusal: { reason, detail, rule, retryAfterSeconds, availableAt, timeLockId } };
  }
}

async function* requestsOf(messages: AsyncIterable<SignStreamRequest>): AsyncGenerator<SignRequest[]> {
  for await (const { requests } of messages) yield requests;
}

/** signer.v1.Signing/SignStream */
export const signStreamRpc = (options: SignStreamOptions): Handler<SigningService["signStream"]> =>
  async function* signStream(messages, call) {
    const work = (request: SignRequest) => answer(options, request, call);
    for await (const answers of answerStream(requestsOf(messages), call, work)) yield { answers };
  };
