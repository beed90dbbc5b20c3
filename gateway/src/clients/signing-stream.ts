import { AppError, isReason } from "@countersign/core";
import type {
  Refusal,
  SignAnswer,
  SignedMessage,
  SigningService,
  SignRequest,
} from "@countersign/proto/signer/v1/signing.ts";
import { createCoalescer, type RpcClient } from "@countersign/rpc";

/** One operation of one user. */
export type SignOperation = Omit<SignRequest, "id">;

export interface SigningStream {
  /** Errors: those of the signer, DeadlineExceeded, Unavailable. */
  sign(operation: SignOperation): Promise<SignedMessage>;
  close(): void;
}

/** The gateway's way to the signer: signer.v1.Signing/SignStream, where each request carries its own user's token. */
export function createSigningStream(
  client: Pick<RpcClient<SigningService>, "signStream">,
  { deadlineMs }: { deadlineMs: number },
): SigningStream {
  const stream = createCoalescer<SignRequest, SignAnswer>({
    open: (batches, signal) => answersOf(client.signStream(messagesOf(batches), { signal })),
  });
  return {
    async sign(operation) {
      const { signed, refusal } = await stream.send(operation, deadlineMs);
      if (signed === undefined) throw refusedBecause(refusal);
      return signed;
    },
    close: () => stream.close(),
  };
}

async function* messagesOf(batches: AsyncIterable<SignRequest[]>) {
  for await (const requests of batches) yield { requests };
}

async function* answersOf(messages: AsyncIterable<{ answers: SignAnswer[] }>) {
  for await (const { answers } of messages) yield answers;
}

function refusedBecause(refusal: Refusal | undefined): AppError {
  if (refusal === undefined || !isReason(refusal.reason)) return new AppError("Internal");
  const { reason, detail, rule, retryAfterSeconds, availableAt, timeLockId } = refusal;
  const members = Object.entries({ reason: rule, availableAt, timeLockId }).filter(([, value]) => value !== "");
  return new AppError(reason, {
    detail,
    metadata: Object.fromEntries(members),
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  });
}
