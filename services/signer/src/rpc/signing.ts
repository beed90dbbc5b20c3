import { AppError, inSpan, type Logger, parseTraceParent, type TraceParent, toAppError } from "@countersign/core";
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
  logCall,
  observeCall,
  type RpcMetrics,
  requestIdFrom,
  requireToken,
  rpcName,
} from "@countersign/rpc";
import type { Commands } from "../domain/commands.ts";
import type { SignedMessage } from "../domain/decide.ts";
import { signedToProto } from "./conversions.ts";

type SigningCommands = Pick<Commands, "signTransaction" | "signPaymaster">;

/** Counts and logs the requests of a stream. */
interface SigningObservers {
  readonly metrics: Pick<RpcMetrics, "rpcServer">;
  readonly logger: Logger;
}

/** Handles signer.v1.Signing. Each request of a stream is observed as a call of the unary RPC. */
export const signingHandlers = (commands: SigningCommands, observers: SigningObservers): Handlers<SigningService> => ({
  signTransaction: async ({ message, chainName }, call) =>
    signedToProto(
      await commands.signTransaction({ message, chainName, token: requireToken(call), caller: call.caller }),
    ),

  signPaymaster: async ({ message, chainName }, call) =>
    signedToProto(await commands.signPaymaster({ message, chainName, token: requireToken(call), caller: call.caller })),

  async *signStream(messages, call) {
    const work = (request: SignRequest) => answer(commands, observers, request, call);
    for await (const { answers } of answerItems(requestsOf(messages), call, work, bytesOf)) yield { answers };
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
  { metrics, logger }: SigningObservers,
  { id, accessToken, requestId, traceparent, transaction, paymaster }: SignRequest,
  call: CallContext,
): Promise<SignAnswer> {
  const started = performance.now();
  const { caller } = call;
  const rpc = rpcName(transaction ? SigningService.signTransaction : SigningService.signPaymaster);
  let traceId: string | undefined;
  let accountId: string | undefined;
  const sign = async (trace: TraceParent): Promise<SignedMessage> => {
    ({ traceId } = trace);
    // Each request has its own user's token, and its operation's row of the caller table.
    const token = call.tokenFor(rpc, accessToken);
    ({ accountId } = token);
    if (transaction) return signTransaction({ ...transaction, token, caller });
    if (paymaster) return signPaymaster({ ...paymaster, token, caller });
    throw new AppError("InvalidRequest", { detail: "the request names no operation" });
  };
  const log = (error?: AppError, cause?: unknown) => {
    const durationMs = performance.now() - started;
    logCall(logger, { requestId: requestIdFrom(requestId), traceId, rpc, caller, accountId, durationMs }, error, cause);
  };
  try {
    const span = { kind: "server", parent: parseTraceParent(traceparent) } as const;
    const signed = await observeCall(metrics.rpcServer, rpc, () => inSpan(rpc, span, sign));
    log();
    return { id, signed: signedToProto(signed) };
  } catch (error) {
    const refusal = toAppError(error);
    log(refusal, refusal === error ? undefined : refusal.cause);
    const { reason, detail, metadata, retryAfterSeconds = 0 } = refusal;
    const { reason: rule = "", availableAt = "", timeLockId = "" } = metadata;
    return { id, refusal: { reason, detail, rule, retryAfterSeconds, availableAt, timeLockId } };
  }
}
