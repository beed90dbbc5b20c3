import { AppError, formatTraceParent, inSpan, isReason } from "@countersign/core";
import {
  type Refusal,
  type SignAnswer,
  type SignedMessage,
  SigningService,
  type SignRequest,
} from "@countersign/proto/signer/v1/signing.ts";
import {
  createCoalescer,
  observeCall,
  type RpcCallOptions,
  type RpcClient,
  type RpcMetrics,
  rpcName,
} from "@countersign/rpc";

type Signing = Pick<RpcClient<SigningService>, "signTransaction" | "signPaymaster"> & { renew(): void; close(): void };

/** An upper bound for the other fields of a request together. */
const OTHER_BYTES = 256;

/**
 * Sends signing calls on signer.v1.Signing/SignStream, where each request carries its own user's token: it
 * costs the signer less than rpc.v1.Calls. Each is observed as a call of the unary RPC.
 */
export function createSigningStream(
  client: Pick<RpcClient<SigningService>, "signStream">,
  { deadlineMs, metrics }: { deadlineMs: number; metrics: Pick<RpcMetrics, "rpcClient"> },
): Signing {
  const stream = createCoalescer<SignRequest, SignAnswer>({
    open: (batches, signal) => client.signStream(messagesOf(batches), { signal }),
    bytesOf: ({ transaction, paymaster, accessToken }) =>
      (transaction ?? paymaster)!.message.length + accessToken.length + OTHER_BYTES,
  });
  const sign = async (
    operation: Pick<SignRequest, "transaction" | "paymaster">,
    call: RpcCallOptions["onBehalfOf"],
  ): Promise<SignedMessage> => {
    const { rawToken = "", requestId = "", signal } = call ?? {};
    const rpc = rpcName(operation.transaction ? SigningService.signTransaction : SigningService.signPaymaster);
    return inSpan(rpc, { kind: "client", parent: call?.trace }, async (trace) => {
      const traceparent = formatTraceParent(trace);
      const request = { ...operation, accessToken: rawToken, requestId, traceparent };
      return observeCall(metrics.rpcClient, rpc, async () => {
        const { signed, refusal } = await stream.send(request, deadlineMs, signal && [signal]);
        if (signed === undefined) throw errorOf(refusal);
        return signed;
      });
    });
  };
  return {
    signTransaction: (transaction, { onBehalfOf } = {}) => sign({ transaction }, onBehalfOf),
    signPaymaster: (paymaster, { onBehalfOf } = {}) => sign({ paymaster }, onBehalfOf),
    renew: () => stream.renew(),
    close: () => stream.close(),
  };
}

async function* messagesOf(batches: AsyncIterable<SignRequest[]>) {
  for await (const requests of batches) yield { requests };
}

function errorOf(refusal: Refusal | undefined): AppError {
  if (refusal === undefined || !isReason(refusal.reason)) return new AppError("Internal");
  const { reason, detail, rule, retryAfterSeconds, availableAt, timeLockId } = refusal;
  const members = Object.entries({ reason: rule, availableAt, timeLockId }).filter(([, value]) => value !== "");
  return new AppError(reason, {
    detail,
    metadata: Object.fromEntries(members),
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  });
}
