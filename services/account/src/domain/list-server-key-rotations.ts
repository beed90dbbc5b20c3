import { AppError } from "@countersign/errors";
import { payloadMessage } from "@countersign/flow";
import { faultPoint } from "../fault-points.ts";
import { serverKeyOf } from "./account-on-chain.ts";
import { type RotationOptions, rotationPayload } from "./server-key-rotation.ts";
import type { settleServerKeyRotation } from "./settle-server-key-rotation.ts";

/** A rotation that waits for a device's signature. */
export interface PreparedRotation {
  readonly chainName: string;
  readonly message: Uint8Array;
}

/**
 * The rotations that an account's device is asked to sign, at most one for each chain; what was submitted is settled first, and left out while it is under way.
 * Errors: AccountNotFound.
 */
export const listServerKeyRotations =
  (options: RotationOptions & { settle: ReturnType<typeof settleServerKeyRotation> }) =>
  async (accountId: string, signal: AbortSignal): Promise<PreparedRotation[]> => {
    const { accounts, chains, rotations, signer, settle } = options;
    const found = await accounts.find(accountId, "");
    if (!found) throw new AppError("AccountNotFound");
    const prepare = async (chainName: string, address: string): Promise<PreparedRotation[]> => {
      const chain = chains.get(chainName);
      if (!chain) return [];
      const before = await rotations.newest(accountId, chainName);
      if (before?.state === "submitted" && (await settle(before, signal)) === "submitted") return [];
      const wanted = await signer.wantedRotation(accountId, chainName);
      if (!wanted) return [];
      const [keys, latest] = await Promise.all([chain.accountKeys(address, signal), chain.latestBlock(signal)]);
      const { index: keyId, sequenceNumber, publicKey } = serverKeyOf(keys);
      // The chain is further than the signer: what is known of it is settled elsewhere, and there is nothing to sign.
      if (publicKey !== wanted.oldKey) return [];
      await faultPoint("rotation prepared");
      const proposalKey = { address, keyId, sequenceNumber };
      const payload = rotationPayload(wanted, { referenceBlockId: latest.id, proposalKey, payer: chain.paymaster });
      return [{ chainName, message: payloadMessage(payload) }];
    };
    const addresses = found.account.addresses.filter(({ chainType }) => chainType === "cadence");
    return (await Promise.all(addresses.map(({ chainName, address }) => prepare(chainName, address)))).flat();
  };
