import { AppError } from "@countersign/errors";
import { payloadMessage } from "@countersign/flow";
import type { Logger } from "@countersign/service-kit";
import { faultPoint } from "../fault-points.ts";
import { serverKeyOf } from "./account-on-chain.ts";
import type { AccountKey } from "./key-addition.ts";
import { type BoundServerKeys, type RotationOptions, rotationPayload, wantedRotation } from "./server-key-rotation.ts";
import type { settleServerKeyRotation } from "./settle-server-key-rotation.ts";

/** A rotation that waits for a device's signature. */
export interface PreparedRotation {
  readonly chainName: string;
  readonly message: Uint8Array;
}

export interface ListRotationsOptions extends RotationOptions {
  readonly settle: ReturnType<typeof settleServerKeyRotation>;
  readonly logger: Pick<Logger, "warn">;
}

/** The version that the chain shows, where the signer has another one, or elsewhere; undefined where it is right, or the key is none that it knows. */
function misboundVersion({ current, next, retired }: BoundServerKeys, { publicKey, index }: AccountKey) {
  if (publicKey === current.publicKey) return index === current.index ? undefined : current.version;
  if (publicKey === next?.publicKey) return next.version;
  const last = retired.at(-1);
  return publicKey === last?.publicKey ? last.version : undefined;
}

/**
 * The rotations that an account's device is asked to sign, at most one for each chain; what was submitted is settled first, and left out while it is under way. The signer does not see the
 * chain: where it has another server key than the chain, which only somebody who spoke in our name can have told it, it is told what is right, and asked the next time.
 * Errors: AccountNotFound.
 */
export const listServerKeyRotations =
  (options: ListRotationsOptions) =>
  async (accountId: string, signal: AbortSignal): Promise<PreparedRotation[]> => {
    const { accounts, chains, rotations, signer, settle, logger } = options;
    const found = await accounts.find(accountId, "");
    if (!found) throw new AppError("AccountNotFound");
    const prepare = async (chainName: string, address: string): Promise<PreparedRotation[]> => {
      const chain = chains.get(chainName);
      if (!chain) return [];
      const before = await rotations.newest(accountId, chainName);
      if (before?.state === "submitted" && (await settle(before, signal)) === "submitted") return [];
      const bound = await signer.serverKeys(accountId, chainName);
      const wanted = wantedRotation(bound);
      // Who was never rotated has the key that the creation made.
      if (!wanted && bound.retired.length === 0) return [];
      // Read before the keys: they are at least as new.
      const latest = await chain.latestBlock(signal);
      const key = serverKeyOf(await chain.accountKeys(address, signal));
      const { index: keyId, sequenceNumber, publicKey } = key;
      const version = misboundVersion(bound, key);
      if (version !== undefined) {
        // A node that lags behind shows the key before: while that may be, what we have seen ourselves stands; also what was seen since we began.
        const own = await rotations.newest(accountId, chainName);
        const seen = own !== undefined && own.state !== "failed" && own.version === bound.current.version;
        const mayLag = seen && latest.height - own.referenceHeight <= chain.maxReferenceAge;
        if (mayLag && version < bound.current.version) return [];
        logger.warn(
          { accountId, chainName, version, index: keyId },
          "the signer had another server key than the chain",
        );
        await signer.rotateBinding({ accountId, chainName, version }, keyId);
        return [];
      }
      if (!wanted || publicKey !== wanted.oldKey) return [];
      await faultPoint("rotation prepared");
      const proposalKey = { address, keyId, sequenceNumber };
      const payload = rotationPayload(wanted, { referenceBlockId: latest.id, proposalKey, payer: chain.paymaster });
      return [{ chainName, message: payloadMessage(payload) }];
    };
    const addresses = found.account.addresses.filter(({ chainType }) => chainType === "cadence");
    return (await Promise.all(addresses.map(({ chainName, address }) => prepare(chainName, address)))).flat();
  };
