import { Status } from "@countersign/proto/google/rpc/status.ts";
import { type Answer, type Call, StreamRequest, StreamResponse } from "@countersign/proto/rpc/v1/calls.ts";
import {
  SignPaymasterRequest,
  SignStreamRequest,
  SignStreamResponse,
  SignTransactionRequest,
} from "@countersign/proto/signer/v1/signing.ts";
import type { ProxiedAnswer, ProxiedCall } from "./rpc-fault.ts";

const HEADER_BYTES = 5;
const REFUSED = 2;

/** Cuts a stream of bytes into gRPC's messages. */
export function messageReader(): (chunk: Buffer) => Buffer[] {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const messages: Buffer[] = [];
    while (rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) break;
      messages.push(rest.subarray(HEADER_BYTES, end));
      rest = rest.subarray(end);
    }
    return messages;
  };
}

/** Calls that go together on a stream, each with the id that its answer repeats. */
export interface Batches {
  calls(message: Buffer): { id: number; call: ProxiedCall }[];
  answers(message: Buffer): { id: number; answer: ProxiedAnswer }[];
}

const callOf = ({ id, method, request, requestId }: Call) => ({
  id,
  call: { rpc: method, headers: { "x-request-id": requestId }, request },
});
const answerOf = ({ id, response, status }: Answer) => ({
  id,
  answer: response
    ? { status: 0, response }
    : { status: Status.decode(status ?? Buffer.alloc(0)).code, response: Buffer.alloc(0) },
});

const BATCHES: Record<string, Batches> = {
  "rpc.v1.Calls/Stream": {
    calls: (message) => StreamRequest.decode(message).calls.map(callOf),
    answers: (message) => StreamResponse.decode(message).answers.map(answerOf),
  },
  "signer.v1.Signing/SignStream": {
    calls: (message) =>
      SignStreamRequest.decode(message).requests.map(({ id, requestId, transaction, paymaster }) => ({
        id,
        call: {
          rpc: `signer.v1.Signing/${transaction ? "SignTransaction" : "SignPaymaster"}`,
          headers: { "x-request-id": requestId },
          request: Buffer.from(
            transaction
              ? SignTransactionRequest.encode(transaction).finish()
              : SignPaymasterRequest.encode(paymaster ?? SignPaymasterRequest.fromPartial({})).finish(),
          ),
        },
      })),
    answers: (message) =>
      SignStreamResponse.decode(message).answers.map(({ id, signed }) => ({
        id,
        answer: { status: signed ? 0 : REFUSED, response: Buffer.alloc(0) },
      })),
  },
};

/** Returns the calls inside of an RPC's stream, where that is what it carries. */
export const batchesOf = (rpc: string): Batches | undefined => BATCHES[rpc];
