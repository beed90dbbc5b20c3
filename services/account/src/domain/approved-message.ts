import { AppError, type Logger } from "@countersign/core";
import {
  type DecodedMessage,
  decodeMessage,
  envelopeMessage,
  type FlowTransaction,
  InvalidMessageError,
  TemplateError,
  type TransactionPayload,
  type TransactionSignature,
} from "@countersign/flow";
import type { KeyAddition, KeyAdditionChain, KeyAdditionSigner, OnBehalfOf } from "./key-additions/key-addition.ts";
import type { AccountOnChain } from "./ports.ts";

/** A message with an older reference block could expire on its way: it is not signed; reading renews it. */
const SUBMIT_BEFORE_BLOCKS = 550n;

/** Decodes the payload that `isWanted` is true of. Errors: InvalidMessage with `detail` for any other one. */
export function decodePayload(
  message: Uint8Array,
  isWanted: (decoded: DecodedMessage) => boolean,
  detail: string,
): DecodedMessage {
  try {
    const decoded = decodeMessage(message);
    if (decoded.kind === "payload" && isWanted(decoded)) return decoded;
  } catch (error) {
    if (!(error instanceof InvalidMessageError) && !(error instanceof TemplateError)) throw error;
  }
  throw new AppError("InvalidMessage", { detail });
}

/** Returns the height of a message's reference block. Errors: MessageRenewed where it is too old. */
export async function recentHeight(
  chain: Pick<KeyAdditionChain, "blockHeight" | "latestBlock">,
  referenceBlockId: string,
  signal: AbortSignal,
): Promise<bigint> {
  const referenceHeight = await chain.blockHeight(referenceBlockId, signal);
  const { height } = await chain.latestBlock(signal);
  if (referenceHeight === undefined || height - referenceHeight > SUBMIT_BEFORE_BLOCKS)
    throw new AppError("MessageRenewed");
  return referenceHeight;
}

/** Adds the service's two signatures to a payload that `approved` signs. Errors: those of the signer. */
export async function coSign(
  signer: KeyAdditionSigner,
  chainName: string,
  { payload, message, approved }: { payload: TransactionPayload; message: Uint8Array; approved: TransactionSignature },
  call: OnBehalfOf,
): Promise<FlowTransaction> {
  const server = await signer.signTransaction(chainName, message, call);
  const signed: FlowTransaction = { ...payload, payloadSignatures: [server, approved], envelopeSignatures: [] };
  const paid = await signer.signPaymaster(chainName, envelopeMessage(signed), call);
  return { ...signed, envelopeSignatures: [paid] };
}

type Committed = AccountOnChain & Pick<KeyAddition, "transaction" | "transactionId">;

/** Submits committed bytes. A node that does not answer now gets them again when they are reconciled. */
export const submitCommitted = (
  chain: Pick<KeyAdditionChain, "submit">,
  { accountId, chainName, transaction, transactionId }: Committed,
  { what, logger, signal }: { what: string; logger: Pick<Logger, "warn">; signal: AbortSignal },
): Promise<void> =>
  chain.submit(transaction!, signal).catch((err: unknown) => {
    logger.warn({ err, accountId, chainName, transactionId }, `${what} is not submitted yet; will retry`);
  });
