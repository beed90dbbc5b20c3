import { AppError } from "@countersign/core";
import { activeKey, decodeMessage, InvalidMessageError, keyRoleOf } from "@countersign/flow";
import { areBehind, requireBelowKeyLimit } from "../accounts/account-on-chain.ts";
import type { KeyAdditionEvent, KeyAdditionTarget } from "./key-addition.ts";
import {
  mismatch,
  type NamedTransaction,
  type NamedTransactionOptions,
  pending,
  sealedTransaction,
} from "./named-transaction.ts";

export interface VerifyKeyAdditionCommand extends KeyAdditionTarget, NamedTransaction {
  /** When the request was made; the transaction must be younger. */
  readonly notBefore: Date;
  /** The first message of the request: the transaction's block must be younger than its reference block. */
  readonly firstMessage: Uint8Array;
  /** Whether the recovery key approves the request, and not a device. */
  readonly byRecoveryKey: boolean;
}

export interface VerifyKeyAdditionOptions extends NamedTransactionOptions {
  readonly maxUserKeys: number;
}

/**
 * Whether a transaction that a client names added exactly that key to exactly that account, with weight 1 and
 * SHA2-256, caused no other event of keys, contracts or capabilities, and the key is there now. Gives its
 * index. Errors: TransactionPending (it may still come), TransactionMismatch, TooManyKeys.
 */
export const verifyKeyAddition =
  (options: VerifyKeyAdditionOptions) =>
  async (command: VerifyKeyAdditionCommand, signal: AbortSignal): Promise<number> => {
    const { chain, address, events, height, before } = await sealedTransaction(options, command, signal);
    const opened = await chain.blockHeight(referenceBlockOf(command.firstMessage), signal);
    // Two bounds: heights know no wrong clocks, and the reference block is a little older than the request.
    const younger = opened !== undefined && height !== undefined && height > opened;
    if (!younger || (before && before < command.notBefore)) throw mismatch("the transaction is older than the request");
    const index = addedIndex(events, address, command.userKey.publicKey);
    const keys = await chain.accountKeys(address, signal);
    if (areBehind(keys, index)) throw pending();
    const key = activeKey(keys, "user", command.userKey.publicKey);
    if (key?.index !== index) throw mismatch("the key is not on the account any more");
    const others = keys.filter((each) => each !== key);
    // A device's request may have been opened while the recovery key had a session, which lifts the limit.
    if (!command.byRecoveryKey) requireBelowKeyLimit(others, options.maxUserKeys);
    return index;
  };

/** Returns the message's reference block. Errors: InvalidMessage. */
function referenceBlockOf(message: Uint8Array): string {
  try {
    return decodeMessage(message).referenceBlockId;
  } catch (error) {
    throw error instanceof InvalidMessageError ? new AppError("InvalidMessage", { detail: error.message }) : error;
  }
}

/**
 * Events of the core about keys, contracts, capabilities and inboxes: one of them is expected, any other is
 * refused.
 */
function addedIndex(events: readonly KeyAdditionEvent[], address: string, publicKey: string): number {
  const core = events.filter(({ type }) => type.startsWith("flow."));
  const [only] = core;
  if (core.length !== 1 || only?.addedKey === undefined) throw mismatch("the transaction did something else");
  const { addedKey } = only;
  const right = addedKey.address === address && addedKey.publicKey === publicKey && keyRoleOf(addedKey) === "user";
  if (!right) throw mismatch("the transaction added another key, or elsewhere");
  return addedKey.keyIndex;
}
