import { AppError, type Clock, chainNamed, type Logger } from "@countersign/core";
import {
  activeKey,
  type DecodedMessage,
  readAddUserKey,
  type TransactionSignature,
  transactionId,
} from "@countersign/flow";
import { verifyUserSignature } from "@countersign/flow/node";
import type { PasskeySettings, PublicKey } from "@countersign/keys";
import { cadenceAddressOf, requireBelowKeyLimit } from "../accounts/account-on-chain.ts";
import { coSign, decodePayload, recentHeight, submitCommitted } from "../approved-message.ts";
import type {
  KeyAddition,
  KeyAdditionSigner,
  KeyAdditionStore,
  KeyAdditionTarget,
  OnBehalfOf,
} from "./key-addition.ts";
import type { PrepareKeyAdditionOptions } from "./prepare-key-addition.ts";

/** In its form on chain; both are hex. */
export type ApproverSignature = Pick<TransactionSignature, "signature" | "extensionData">;

export interface SubmitKeyAdditionCommand extends KeyAdditionTarget {
  readonly attemptId: string;
  /** As prepared. */
  readonly message: Uint8Array;
  readonly approverKey: PublicKey;
  readonly signature: ApproverSignature;
  /** Of the approver's session: its relying parties are those of the passkey. */
  readonly appId: string;
}

export interface SubmitKeyAdditionOptions extends PrepareKeyAdditionOptions {
  readonly additions: KeyAdditionStore;
  readonly signer: KeyAdditionSigner;
  readonly passkeys: PasskeySettings;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/**
 * Adds the service's two signatures to what an approver signed, commits the complete bytes under the
 * attempt's id, and submits them. Repeated, returns what was committed.
 * Errors: InvalidMessage, InvalidSignature, MessageRenewed, TooManyKeys, TwoFactorAuthNotPending for an
 * abandoned attempt, those of the signer.
 *
 * Writes: the attempt with its bytes, before they are submitted.
 * Crash: before the commit nothing is left here; the signer has counted its signatures. After it,
 * ReconcileKeyAddition submits the same bytes.
 * Race: the first commit under an attempt's id stays, also that of ReconcileKeyAddition, which abandons it.
 */
export const submitKeyAddition =
  ({ accounts, chains, additions, signer, passkeys, maxUserKeys, clock, logger }: SubmitKeyAdditionOptions) =>
  async (command: SubmitKeyAdditionCommand, call: OnBehalfOf, signal: AbortSignal): Promise<KeyAddition> => {
    const { attemptId, accountId, chainName, userKey, message, approverKey } = command;
    const chain = chainNamed(chains, chainName);
    const known = await additions.find(attemptId);
    if (known) return notAbandoned(known, command);

    const account = await cadenceAddressOf(accounts, accountId, chainName);
    const payload = decodePayload(message, isAddition(account, userKey), "not the addition of this key");
    const keys = await chain.accountKeys(account, signal);
    const { publicKey } = approverKey;
    const device = activeKey(keys, "user", publicKey);
    const approver = device ?? activeKey(keys, "recovery", publicKey);
    const relyingParties = passkeys.relyingPartiesOf(command.appId);
    if (!approver || !verifyUserSignature(approverKey, message, command.signature, relyingParties)) {
      throw new AppError("InvalidSignature");
    }
    // The recovery key adds one at a time, after a time lock.
    if (device) requireBelowKeyLimit(keys, maxUserKeys);
    const proposer = keys.find(({ index }) => index === payload.proposalKey.keyId);
    const referenceHeight = await recentHeight(chain, payload.referenceBlockId, signal);
    if (proposer?.sequenceNumber !== payload.proposalKey.sequenceNumber) throw new AppError("MessageRenewed");

    const approved = { address: account, keyId: approver.index, ...command.signature };
    const transaction = await coSign(signer, chainName, { payload, message, approved }, call);
    const committed = await additions.commit(
      {
        attemptId,
        accountId,
        chainName,
        userKey,
        state: "submitted",
        transaction,
        transactionId: transactionId(transaction),
        referenceHeight,
        keyIndex: -1,
      },
      clock.now(),
    );
    const ours = notAbandoned(committed, command);
    await submitCommitted(chain, ours, { what: "the addition of a key", logger, signal });
    return ours;
  };

const isAddition =
  (account: string, userKey: PublicKey) =>
  (decoded: DecodedMessage): boolean => {
    const added = readAddUserKey(decoded);
    const same = added?.algorithm === userKey.algorithm && added.publicKey === userKey.publicKey;
    const own = decoded.authorizers.length === 1 && decoded.authorizers[0] === account;
    return same && own && decoded.proposalKey.address === account;
  };

function notAbandoned(addition: KeyAddition, { accountId }: SubmitKeyAdditionCommand): KeyAddition {
  if (addition.accountId !== accountId || addition.state === "abandoned") throw new AppError("TwoFactorAuthNotPending");
  return addition;
}
