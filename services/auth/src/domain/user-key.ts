import { AppError, type DeviceAttributes, unknownChain } from "@countersign/core";
import { FLOW_KEY_ALGORITHMS, isFlowKeyAlgorithm } from "@countersign/flow";
import { type PasskeySettings, type PublicKey, samePublicKey } from "@countersign/keys";

/** A key that is to come to an account, and the device that holds it. */
export interface NewUserKey {
  readonly userKeyType: "device" | "passkey";
  /** The key that is added on chain. */
  readonly accountKey: PublicKey;
  /** The device's identity key. */
  readonly deviceKey: PublicKey;
  readonly device: DeviceAttributes;
}

/** The two keys of a device. */
export type KeysOfDevice = Pick<NewUserKey, "accountKey" | "deviceKey">;

/** Returns whether both keys are the same. */
export const sameKeys = (a: KeysOfDevice, b: KeysOfDevice): boolean =>
  samePublicKey(a.accountKey, b.accountKey) && samePublicKey(a.deviceKey, b.deviceKey);

/** Rejects early what the account service would reject later. Errors: UnknownChain, UnsupportedKey. */
export function requireChainAndKey(chains: ReadonlySet<string>, chainName: string, key?: PublicKey): void {
  if (!chains.has(chainName)) throw unknownChain(chainName, chains);
  if (key && !isFlowKeyAlgorithm(key.algorithm)) {
    const detail = `${chainName} carries keys of ${FLOW_KEY_ALGORITHMS.join(" and ")}`;
    throw new AppError("UnsupportedKey", { detail });
  }
}

/** Requires that a passkey could sign in to the app. Errors: UnsupportedKey. */
export function requireUsablePasskey(
  passkeys: PasskeySettings,
  appId: string,
  { userKeyType, accountKey }: Pick<NewUserKey, "userKeyType" | "accountKey">,
): void {
  if (userKeyType !== "passkey") return;
  if (accountKey.algorithm !== "ES256") throw new AppError("UnsupportedKey", { detail: "A passkey's key is of ES256" });
  if (passkeys.relyingPartiesOf(appId).length === 0) {
    throw new AppError("UnsupportedKey", { detail: "This app has no passkeys here" });
  }
}
