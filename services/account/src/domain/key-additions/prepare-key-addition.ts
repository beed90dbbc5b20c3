import { chainNamed } from "@countersign/core";
import {
  addUserKeyPayload,
  decodeMessage,
  InvalidMessageError,
  payloadMessage,
  type TransactionPayload,
} from "@countersign/flow";
import { cadenceAddressOf, requireBelowKeyLimit, requireFlowKey, serverKeyOf } from "../accounts/account-on-chain.ts";
import type { AccountsOnChains, KeyAdditionTarget } from "./key-addition.ts";

export interface PrepareKeyAdditionOptions extends AccountsOnChains {
  /** The most active user keys of one account. */
  readonly maxUserKeys: number;
}

/** A key to add; `recovering`: the recovery key, which has a session, is to approve it. */
export interface PreparedTarget extends KeyAdditionTarget {
  readonly recovering: boolean;
}

/**
 * A reference block of at most this age leaves half of its validity for the decision and half for submitting.
 */
const RENEW_AFTER_BLOCKS = 300n;

/**
 * Returns the payload of add-user-key for a key, proposed by the account's own server key, so that the user's
 * other transactions do not void it: `current` while its sequence number is the next one and its reference
 * block is young.
 * Errors: UnknownChain, UnsupportedKey, AccountNotFound, AccountNotReady, TooManyKeys.
 */
export const prepareKeyAddition =
  ({ accounts, chains, maxUserKeys }: PrepareKeyAdditionOptions) =>
  async (target: PreparedTarget, current: Uint8Array, signal: AbortSignal): Promise<Uint8Array> => {
    const chain = chainNamed(chains, target.chainName);
    requireFlowKey(target.chainName, target.userKey);
    const account = await cadenceAddressOf(accounts, target.accountId, target.chainName);
    const [keys, latest] = await Promise.all([chain.accountKeys(account, signal), chain.latestBlock(signal)]);
    const { index: keyId, sequenceNumber } = serverKeyOf(keys);
    // A thief's device fills the limit in minutes, with keys that the recovery key cannot revoke.
    if (!target.recovering) requireBelowKeyLimit(keys, maxUserKeys);
    const payloadAt = (referenceBlockId: string): TransactionPayload =>
      addUserKeyPayload(target.userKey, {
        account,
        referenceBlockId,
        proposalKey: { address: account, keyId, sequenceNumber },
        payer: chain.paymaster,
      });

    const reference = referenceBlockOf(current);
    if (reference !== undefined && Buffer.from(payloadMessage(payloadAt(reference))).equals(current)) {
      const height = await chain.blockHeight(reference, signal);
      if (height !== undefined && latest.height - height <= RENEW_AFTER_BLOCKS) return current;
    }
    return payloadMessage(payloadAt(latest.id));
  };

function referenceBlockOf(message: Uint8Array): string | undefined {
  if (message.length === 0) return undefined;
  try {
    return decodeMessage(message).referenceBlockId;
  } catch (error) {
    if (error instanceof InvalidMessageError) return undefined;
    throw error;
  }
}
