import { type PublicKey, samePublicKey } from "@countersign/keys";

/** What signs in to the account on one chain, as the key service says. */
export interface ChainAccess {
  chainName: string;
  /** Identity keys of devices that hold an active key. */
  deviceKeys: readonly PublicKey[];
  /** A reported recovery key is active on chain. */
  recoveryKey: boolean;
}

/** Whether somebody signs in on the chain if these devices are all that the account has. */
const isOpen = ({ deviceKeys, recoveryKey }: ChainAccess, devices: readonly PublicKey[]): boolean =>
  recoveryKey || deviceKeys.some((key) => devices.some((device) => samePublicKey(device, key)));

/**
 * Whether a chain's account would be lost for good with the device: somebody signs in there now, and nobody
 * without it.
 */
export const isLastDevice = (
  device: PublicKey,
  live: readonly PublicKey[],
  access: readonly ChainAccess[],
): boolean => {
  const others = live.filter((key) => !samePublicKey(key, device));
  return access.some((chain) => isOpen(chain, live) && !isOpen(chain, others));
};
