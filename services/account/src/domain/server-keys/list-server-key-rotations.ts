import type { Logger } from "@countersign/core";
import { keyRoleOf, payloadMessage } from "@countersign/flow";
import { cadenceAddressesOf, serverKeyOf } from "../accounts/account-on-chain.ts";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { reconcileServerKeyRotation } from "./reconcile-server-key-rotation.ts";
import { type BoundServerKeys, type RotationOptions, rotationPayload, wantedRotation } from "./server-key-rotation.ts";

/** A rotation that waits for a device's signature. */
export interface PreparedRotation {
  readonly chainName: string;
  readonly message: Uint8Array;
}

export interface ListRotationsOptions extends RotationOptions {
  readonly reconcile: ReturnType<typeof reconcileServerKeyRotation>;
  readonly logger: Pick<Logger, "warn">;
}

interface Correction {
  readonly version: number;
  readonly index: number;
  /** The version that is taken back. */
  readonly replaces?: number;
}

/**
 * Returns the corrections that make the signer's indexes those of the chain, in an order in which each index
 * is between its neighbours'; empty where the signer does not know the active key.
 */
function correctionsOf(bound: BoundServerKeys, keys: readonly AccountKey[], active: AccountKey): Correction[] {
  const { current, next, retired } = bound;
  const places = [...retired, current];
  const known = [...places, ...(next ? [next] : [])].find(({ publicKey }) => publicKey === active.publicKey);
  if (!known) return [];
  // A node that lags behind may lack a key, but never shows it at another index. The creation set the first
  // index.
  const moved = places.slice(1).flatMap(({ version, publicKey, index: recorded }) => {
    const isIt = (key: AccountKey) => key.publicKey === publicKey && keyRoleOf(key) === "server";
    const index = (active.publicKey === publicKey ? active : keys.find(isIt))?.index ?? recorded;
    return index === recorded ? [] : [{ version, index, isLower: index < recorded }];
  });
  const [lower, higher] = [moved.filter(({ isLower }) => isLower), moved.filter(({ isLower }) => !isLower)];
  const corrections: Correction[] = [...lower, ...higher.reverse()].map(({ version, index }) => ({ version, index }));
  if (known.version > current.version) corrections.push({ version: known.version, index: active.index });
  // One at a time: the one before that is taken back the next time.
  const last = retired.at(-1);
  if (known.version < current.version && last) {
    const index = corrections.find(({ version }) => version === last.version)?.index ?? last.index;
    corrections.push({ version: last.version, index, replaces: current.version });
  }
  return corrections;
}

/** A chain that does not answer in this time is left out. */
const CHAIN_MS = 5_000;

/**
 * Returns the rotations for a device to sign, at most one for each chain that answers. A submitted one is
 * reconciled first and left out while it is under way. The signer does not read the chain: where its server
 * key differs from the chain's, which only a forged call can cause, it is corrected first, and the rotation
 * follows in the next call.
 */
export const listServerKeyRotations =
  (options: ListRotationsOptions) =>
  async (accountId: string, caller: AbortSignal): Promise<PreparedRotation[]> => {
    const signal = AbortSignal.any([caller, AbortSignal.timeout(CHAIN_MS)]);
    const { accounts, chains, rotations, signer, reconcile, logger } = options;
    const addresses = await cadenceAddressesOf(accounts, accountId);
    const prepare = async (chainName: string, address: string): Promise<PreparedRotation[]> => {
      const chain = chains.get(chainName);
      if (!chain) return [];
      const before = await rotations.newest(accountId, chainName);
      if (before?.state === "submitted" && (await reconcile(before, signal)) === "submitted") return [];
      const bound = await signer.serverKeys(accountId, chainName);
      const wanted = wantedRotation(bound);
      // An account that was never rotated has the key that the creation made.
      if (!wanted && bound.retired.length === 0) return [];
      const latest = await chain.latestBlock(signal);
      const keys = await chain.accountKeys(address, signal, latest.height);
      const key = serverKeyOf(keys);
      const { index: keyId, sequenceNumber, publicKey } = key;
      const corrections = correctionsOf(bound, keys, key);
      if (corrections.length > 0) {
        // A node that lags behind may show the previous key: keep what was seen before, or since this call
        // began.
        const own = await rotations.newest(accountId, chainName);
        const seen = own !== undefined && own.state !== "failed" && own.version === bound.current.version;
        const mayLag = seen && latest.height - own.referenceHeight <= chain.maxReferenceAge;
        for (const { version, index, replaces } of corrections) {
          if (mayLag && replaces !== undefined) continue;
          logger.warn(
            { accountId, chainName, keyIndex: index, from: replaces, to: version },
            "the signer had another server key than the chain",
          );
          await signer.rotateBinding({ accountId, chainName, version }, index, replaces);
        }
        return [];
      }
      if (!wanted || publicKey !== wanted.oldKey) return [];
      const proposalKey = { address, keyId, sequenceNumber };
      const payload = rotationPayload(wanted, { referenceBlockId: latest.id, proposalKey, payer: chain.paymaster });
      return [{ chainName, message: payloadMessage(payload) }];
    };
    const prepared = await Promise.allSettled(addresses.map(({ chainName, address }) => prepare(chainName, address)));
    const waiting = prepared.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    const refused = prepared.find((each) => each.status === "rejected");
    if (refused && waiting.length === 0) throw refused.reason;
    return waiting;
  };
