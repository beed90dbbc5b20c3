import { AppError } from "@countersign/core";
import { KeyAdditionStatus, type KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import type { TransactionReference } from "@countersign/proto/common/v1/types.ts";
import { publicKeyToProto, type RpcClient } from "@countersign/rpc";
import type { KeyAddition, KeyAdditions, Settlement, UserCall } from "../domain/two-factor/ports.ts";
import type { ChainTransaction } from "../domain/two-factor/two-factor.ts";

/** Reading the chain: short, since an old message is shown rather than waiting. */
const PREPARE_MS = 2_000;
/** Less than the sweeper's lease, and than the deadline of those who ask while somebody waits. */
const SETTLE_MS = 2_000;
/** Less than ATTEMPT_MS: nobody asks what became of an attempt while this call may still be answered. */
const SUBMIT_MS = 10_000;

const additionOf = ({ accountId, chainName, userKey }: KeyAddition) => ({
  accountId,
  chainName,
  userKey: publicKeyToProto(userKey),
});

/** Errors: Internal, when the account service names none where it must. */
function transactionOf(reference: TransactionReference | undefined): ChainTransaction {
  if (!reference) throw new AppError("Internal", { cause: new Error("account named no transaction") });
  return { id: reference.id, refUrl: reference.refUrl };
}

/** The user's token goes along; the end of their connection does not, since a committed attempt is worth finishing. */
const onBehalf = (call: UserCall) => ({ call: { ...call, signal: new AbortController().signal } });

/** account.v1.KeyAdditions, over mutual TLS. */
export function keyAdditions(client: RpcClient<KeyAdditionsService>): KeyAdditions {
  return {
    async prepare(addition, currentMessage) {
      const request = { ...additionOf(addition), currentMessage: Buffer.from(currentMessage) };
      const { message } = await client.prepareKeyAddition(request, { deadlineMs: PREPARE_MS, idempotent: true });
      return message;
    },

    async submit({ attemptId, message, approverKey, signature, ...addition }, call) {
      const { transaction } = await client.submitKeyAddition(
        {
          ...additionOf(addition),
          attemptId,
          message: Buffer.from(message),
          approverKey: publicKeyToProto(approverKey),
          signature: Buffer.from(signature.signature, "hex"),
          extensionData: Buffer.from(signature.extensionData ?? "", "hex"),
        },
        { ...onBehalf(call), deadlineMs: SUBMIT_MS },
      );
      return transactionOf(transaction);
    },

    async settle(attempt): Promise<Settlement> {
      const { status, transaction, keyIndex } = await client.reconcileKeyAddition(attempt, {
        deadlineMs: SETTLE_MS,
        idempotent: true,
      });
      switch (status) {
        case KeyAdditionStatus.KEY_ADDITION_STATUS_SUBMITTED:
          return { status: "submitted", transaction: transactionOf(transaction) };
        case KeyAdditionStatus.KEY_ADDITION_STATUS_SEALED:
          return { status: "sealed", transaction: transactionOf(transaction), keyIndex };
        case KeyAdditionStatus.KEY_ADDITION_STATUS_FAILED:
          return { status: "failed", transaction: transactionOf(transaction) };
        case KeyAdditionStatus.KEY_ADDITION_STATUS_ABANDONED:
          return { status: "abandoned" };
        default:
          throw new AppError("Internal", { cause: new Error(`account answered status ${status}`) });
      }
    },

    async verify({ transactionId, notBefore, firstMessage, ...addition }, call) {
      const { transaction, keyIndex } = await client.verifyKeyAddition(
        { ...additionOf(addition), transactionId, notBefore, firstMessage: Buffer.from(firstMessage) },
        { ...onBehalf(call), idempotent: true },
      );
      return { transaction: transactionOf(transaction), keyIndex };
    },
  };
}
