import { AppError } from "@countersign/core";
import { decodeMessage, InvalidMessageError, KEY_ROLES } from "@countersign/flow";
import { cadenceAddressOf, chainNamed, userKeyOf } from "../accounts/account-on-chain.ts";
import type { AccountStore } from "../ports.ts";
import type { UnknownTransaction } from "../unknown-transactions.ts";
import type { KeyAdditionChain, KeyAdditionEvent, KeyAdditionTarget } from "./key-addition.ts";

export interface VerifyKeyAdditionOptions {
  readonly accounts: Pick<AccountStore, "find">;
  readonly chains: ReadonlyMap<string, KeyAdditionChain>;
  readonly unknownTransaction: UnknownTransaction;
}

export interface VerifyKeyAdditionCommand extends KeyAdditionTarget {
  /** 64 hex digits. */
  readonly transactionId: string;
  /** When the request was made; the transaction must be younger. */
  readonly notBefore: Date;
  /** The first message of the request: the transaction's block must be younger than its reference block. */
  readonly firstMessage: Uint8Array;
}

/**
 * Whether a transaction that a client names added exactly that key to exactly that account, with weight 1 and
 * SHA2-256, caused no other event of keys, contracts or capabilities, and the key is there now. Gives its
 * index. Errors: TransactionPending (it may still come), TransactionMismatch.
 */
export const verifyKeyAddition =
  ({ accounts, chains, unknownTransaction }: VerifyKeyAdditionOptions) =>
  async (command: VerifyKeyAdditionCommand, signal: AbortSignal): Promise<number> => {
    const chain = chainNamed(chains, command.chainName);
    const address = await cadenceAddressOf(accounts, command.accountId, command.chainName);
    const { status, events, ...outcome } = await chain.keyAdditionOutcome(command.transactionId, signal);
    if (status === "unknown") throw await unknownTransaction(chain, command.transactionId, signal);
    if (status === "pending") throw new AppError("TransactionPending", { retryAfterSeconds: 1 });
    if (status === "expired") throw mismatch("the transaction expired before a block took it");
    if (status !== "sealed") throw mismatch("the transaction failed");
    const opened = await chain.blockHeight(referenceBlockOf(command.firstMessage), signal);
    const { height, before } = outcome;
    // Two bounds: heights know no wrong clocks, and the reference block is a little older than the request.
    const younger = opened !== undefined && height !== undefined && height > opened;
    if (!younger || (before && before < command.notBefore)) throw mismatch("the transaction is older than the request");
    const index = addedIndex(events, address, command.userKey.publicKey);
    const key = userKeyOf(await chain.accountKeys(address, signal), command.userKey);
    if (key?.index !== index) throw mismatch("the key is not on the account any more");
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

const mismatch = (detail: string) => new AppError("TransactionMismatch", { detail });

/**
 * Events of the core about keys, contracts, capabilities and inboxes: one of them is expected, any other is
 * refused.
 */
function addedIndex(events: readonly KeyAdditionEvent[], address: string, publicKey: string): number {
  const core = events.filter(({ type }) => type.startsWith("flow."));
  const [only] = core;
  if (core.length !== 1 || only?.addedKey === undefined) throw mismatch("the transaction did something else");
  const { addedKey } = only;
  const { weight, hashAlgorithm } = KEY_ROLES.user;
  const right =
    addedKey.address === address &&
    addedKey.publicKey === publicKey &&
    addedKey.weight === weight &&
    addedKey.hashAlgorithm === hashAlgorithm;
  if (!right) throw mismatch("the transaction added another key, or elsewhere");
  return addedKey.keyIndex;
}
