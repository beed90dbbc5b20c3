import { AppError, inSpan, parseTraceParent, type TokenVerifier, toAppError } from "@countersign/core";
import {
  type SignAnswer,
  SigningService,
  type SignRequest,
  type SignStreamRequest,
} from "@countersign/proto/signer/v1/signing.ts";
import {
  answerItems,
  type CallContext,
  type Handlers,
  observeCall,
  type RpcMetrics,
  requireToken,
  rpcName,
} from "@countersign/rpc";
import type { SignedMessage } from "../domain/decide.ts";
import type { SignCommand } from "../domain/sign-transaction.ts";
import { signedToProto } from "./conversions.ts";

type Sign = (command: SignCommand) => Promise<SignedMessage>;
type SigningCommands = Readonly<Record<"signTransaction" | "signPaymaster", Sign>>;

/** Handles signer.v1.Signing. Each request of a stream is observed as a call of the unary RPC. */
export const signingRpcs = (
  { signTransaction, signPaymaster }: SigningCommands,
  verifier: TokenVerifier,
  { rpcServer }: Pick<RpcMetrics, "rpcServer">,
): Handlers<SigningService> => ({
  signTransaction: async ({ message, chainName }, call) =>
    signedToProto(await signTransaction({ message, chainName, token: requireToken(call), caller: call.caller })),

  signPaymaster: async ({ message, chainName }, call) =>
    signedToProto(await signPaymaster({ message, chainName, token: requireToken(call), caller: call.caller })),

  async *signStream(messages, call) {
    const work = (request: SignRequest) =>
      answer({ signTransaction, signPaymaster }, verifier, rpcServer, request, call);
    for await (const answers of answerItems(requestsOf(messages), call, work, bytesOf)) yield { answers };
  },
});

/**
 * Returns an upper bound for an answer's bytes: UTF-8 needs at most three for each UTF-16 unit of the detail.
 */
const bytesOf = ({ refusal }: SignAnswer): number => 1_024 + 3 * (refusal?.detail.length ?? 0);

async function* requestsOf(messages: AsyncIterable<SignStreamRequest>): AsyncGenerator<SignRequest[]> {
  for await (const { requests } of messages) yield requests;
}

/** Answers one request of a stream; an error becomes a refusal. */
async function answer(
  { signTransaction, signPaymaster }: SigningCommands,
  verifier: TokenVerifier,
  calls: RpcMetrics["rpcServer"],
  { id, accessToken, requestId, traceparent, transaction, paymaster }: SignRequest,
  call: CallContext,
): Promise<SignAnswer> {
  const sign = async (): Promise<SignedMessage> => {
    // Each request has its own user's token; the stream has none.
    const token = verifier.verify(accessToken);
    const { caller } = call;
    if (transaction) return signTransaction({ ...transaction, token, caller });
    if (paymaster) return signPaymaster({ ...paymaster, token, caller });
    throw new AppError("InvalidRequest", { detail: "the request names no operation" });
  };
  try {
    const rpc = rpcName(transaction ? SigningService.signTransaction : SigningService.signPaymaster);
    const span = { kind: "server", parent: parseTraceParent(traceparent) } as const;
    const signed = await observeCall(calls, rpc, () => inSpan(rpc, span, sign));
    return { id, signed: signedToProto(signed) };
  } catch (error) {
    const { reason, detail, metadata, retryAfterSeconds = 0 } = toAppError(error);
    if (reason === "Internal") call.logger.error({ err: error, requestId }, "signing failed");
    const { reason: rule = "", availableAt = "", timeLockId = "" } = metadata;
    return { id, refusal: { reason, detail, rule, retryAfterSeconds, availableAt, timeLockId } };
  }
}
