import { chainNamed } from "@countersign/core";
import { KEY_ROLES, keyRoleOf } from "@countersign/flow";
import { cadenceAddressOf, keysAfter } from "../accounts/account-on-chain.ts";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { RotationOptions, ServerKeyRotation, ServerKeyRotationState } from "./server-key-rotation.ts";

/**
 * Completes a committed rotation: submits its bytes again while the chain does not know them, moves the
 * signer to the new key once it is on chain, and fails only a rotation that can never execute.
 */
export const reconcileServerKeyRotation =
  ({ accounts, chains, rotations, signer }: RotationOptions) =>
  async (rotation: ServerKeyRotation, signal: AbortSignal): Promise<ServerKeyRotationState> => {
    if (rotation.state !== "submitted") return rotation.state;
    const { accountId, chainName, newKey, transactionId, referenceHeight } = rotation;
    const chain = chainNamed(chains, chainName);
    const address = await cadenceAddressOf(accounts, accountId, chainName);
    const found = await keysAfter(chain, transactionId, address, signal);
    if (!found) return "submitted";
    const { status, height, keys } = found;
    // The effect counts, of any transaction: a signature's n−s twin seals under another id. A revoked key was
    // there, too.
    const key = keys.find((each) => isServerKey(each, newKey));
    if (key) {
      await signer.rotateBinding(rotation, key.index);
      await rotations.finish(rotation, "sealed");
      return "sealed";
    }
    const over = status === "failed" || (status !== "sealed" && height - referenceHeight > chain.maxReferenceAge);
    if (over) {
      await rotations.finish(rotation, "failed");
      return "failed";
    }
    if (status === "unknown") await chain.submit(rotation.transaction, signal);
    return "submitted";
  };

const isServerKey = (key: AccountKey, publicKey: string): boolean =>
  key.publicKey === publicKey && key.index !== KEY_ROLES.server.initialIndex && keyRoleOf(key) === "server";
