import { AppError, type Clock, chainNamed, type Logger } from "@countersign/core";
import { activeKey, type DecodedMessage, payloadMessage, readKeyChange, transactionId } from "@countersign/flow";
import { verifyUserSignature } from "@countersign/flow/node";
import type { PasskeySettings, PublicKey } from "@countersign/keys";
import { cadenceAddressOf, serverKeyOf } from "../accounts/account-on-chain.ts";
import { coSign, decodePayload, recentHeight, submitCommitted } from "../approved-message.ts";
import type { OnBehalfOf } from "../key-additions/key-addition.ts";
import type { ApproverSignature } from "../key-additions/submit-key-addition.ts";
import type { AccountOnChain } from "../ports.ts";
import {
  type RotationOptions,
  rotationPayload,
  type ServerKeyRotation,
  wantedRotation,
} from "./server-key-rotation.ts";

export interface RotateServerKeyCommand extends AccountOnChain {
  /** As prepared. */
  readonly message: Uint8Array;
  /** The session's account key. */
  readonly userKey: PublicKey;
  readonly signature: ApproverSignature;
  /** Of the session: its relying parties are those of the passkey. */
  readonly appId: string;
}

export interface RotateServerKeyOptions extends RotationOptions {
  readonly passkeys: PasskeySettings;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/**
 * Adds the service's two signatures to what a device signed, commits the complete bytes, and submits them.
 *
 * Writes: the rotation with its bytes, before they are submitted.
 * Crash: before the commit nothing is left here; after it, `reconcileServerKeyRotation` continues.
 * Race: of two concurrent calls with one message one commits, and both return it.
 */
export const rotateServerKey = (options: RotateServerKeyOptions) => {
  const rotate = rotateOnce(options);
  return async (command: RotateServerKeyCommand, call: OnBehalfOf, signal: AbortSignal): Promise<ServerKeyRotation> => {
    try {
      return await rotate(command, call, signal);
    } catch (error) {
      // An earlier call, or a concurrent one, may have rotated with the same message: the signer no longer
      // knows the old key then.
      const theirs = ifOf(command.message, await options.rotations.newest(command.accountId, command.chainName));
      if (theirs) return theirs;
      throw error;
    }
  };
};

/** Returns the rotation if it is under way or done and has this message. */
const ifOf = (message: Uint8Array, rotation: ServerKeyRotation | undefined): ServerKeyRotation | undefined =>
  rotation && rotation.state !== "failed" && Buffer.from(payloadMessage(rotation.transaction)).equals(message)
    ? rotation
    : undefined;

const rotateOnce =
  ({ accounts, chains, rotations, signer, passkeys, clock, logger }: RotateServerKeyOptions) =>
  async (command: RotateServerKeyCommand, call: OnBehalfOf, signal: AbortSignal): Promise<ServerKeyRotation> => {
    const { accountId, chainName, message, userKey, signature } = command;
    const chain = chainNamed(chains, chainName);
    const address = await cadenceAddressOf(accounts, accountId, chainName);
    const { referenceBlockId } = decodePayload(message, isRotation, "not a rotation of a server key");
    if ((await rotations.newest(accountId, chainName))?.state === "submitted")
      throw new AppError("MessageRenewed", { detail: "another rotation is under way" });

    const wanted = wantedRotation(await signer.serverKeys(accountId, chainName));
    if (!wanted) throw new AppError("MessageRenewed", { detail: "the server key is as it is to be" });
    const keys = await chain.accountKeys(address, signal);
    const user = activeKey(keys, "user", userKey.publicKey);
    if (!user || !verifyUserSignature(userKey, message, signature, passkeys.relyingPartiesOf(command.appId))) {
      throw new AppError("InvalidSignature");
    }
    const { index: keyId, sequenceNumber } = serverKeyOf(keys);
    const proposalKey = { address, keyId, sequenceNumber };
    const payload = rotationPayload(wanted, { referenceBlockId, proposalKey, payer: chain.paymaster });
    const referenceHeight = await recentHeight(chain, referenceBlockId, signal);
    if (!Buffer.from(payloadMessage(payload)).equals(message)) throw new AppError("MessageRenewed");

    const approved = { address, keyId: user.index, ...signature };
    const transaction = await coSign(signer, chainName, { payload, message, approved }, call);
    const { version, newKey } = wanted;
    const ours = await rotations.commit(
      {
        accountId,
        chainName,
        version,
        newKey,
        state: "submitted",
        transaction,
        transactionId: transactionId(transaction),
        referenceHeight,
      },
      clock.now(),
    );
    await submitCommitted(chain, ours, { what: "a rotation", logger, signal });
    return ours;
  };

const isRotation = (decoded: DecodedMessage): boolean => readKeyChange(decoded)?.template === "rotate-server-key";
