import type { Answer, Call, StreamResponse } from "@countersign/proto/rpc/v1/calls.ts";
import type { Prepared, RpcCallOptions } from "./call-options.ts";
import { createCoalescer } from "./coalescer.ts";
import { type AnyMethod, rpcName } from "./definition.ts";
import { decodeStatus } from "./errors.ts";

type OpenCallsStream = (input: AsyncIterable<{ calls: Call[] }>, call: RpcCallOptions) => AsyncIterable<StreamResponse>;

/** An upper bound for the other fields of a call together. */
const OTHER_BYTES = 512;

/**
 * Creates a client of unary calls over rpc.v1.Calls. A call that was sent continues until its answer or its
 * deadline although its caller goes away: this costs less than cancelling it at the other side.
 */
export function createCallsClient(open: OpenCallsStream) {
  const coalescer = createCoalescer<Call, Answer>({
    open: (batches, signal) => open(messagesOf(batches), { signal }),
    bytesOf: ({ request, accessToken }) => request.length + accessToken.length + OTHER_BYTES,
    // The server must not work longer than the caller waits.
    setTimeLeft(call, leftMs) {
      call.timeoutMs = Math.ceil(leftMs);
    },
  });
  return {
    async send(method: AnyMethod, request: unknown, prepared: Prepared): Promise<unknown> {
      const { requestId, traceparent, token = "", clientIp = "", deadline, signals } = prepared;
      const timeoutMs = Math.min(Math.max(0, Math.ceil(deadline - Date.now())), 0xffff_ffff);
      const answer = await coalescer.send(
        {
          method: rpcName(method),
          request: method.requestSerialize(request),
          accessToken: token,
          requestId,
          traceparent,
          clientIp,
          timeoutMs,
        },
        timeoutMs,
        signals,
      );
      if (answer.response === undefined) throw decodeStatus(answer.status ?? Buffer.alloc(0));
      return method.responseDeserialize(Buffer.from(answer.response));
    },
    renew: () => coalescer.renew(),
    close: () => coalescer.close(),
  };
}

async function* messagesOf(batches: AsyncIterable<Call[]>) {
  for await (const calls of batches) yield { calls };
}
