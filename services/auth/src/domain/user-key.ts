import { AppError, unknownChain } from "@countersign/core";
import { FLOW_KEY_ALGORITHMS, isFlowKeyAlgorithm } from "@countersign/flow";
import type { PasskeySettings, PublicKey } from "@countersign/keys";

/** Rejects early what the account service would reject later. Errors: UnknownChain, UnsupportedKey. */
export function requireChainAndKey(chains: ReadonlySet<string>, chainName: string, key?: PublicKey): void {
  if (!chains.has(chainName)) throw unknownChain(chainName, chains);
  if (key && !isFlowKeyAlgorithm(key.algorithm)) {
    throw new AppError("UnsupportedKey", {
      detail: `${chainName} carries keys of ${FLOW_KEY_ALGORITHMS.join(" and ")}`,
    });
  }
}

/** Requires that a passkey could sign in to the app. Errors: UnsupportedKey. */
export function requireUsablePasskey(
  passkeys: PasskeySettings,
  appId: string,
  { userKeyType, accountKey }: { userKeyType: "device" | "passkey"; accountKey: PublicKey },
): void {
  if (userKeyType !== "passkey") return;
  if (accountKey.algorithm !== "ES256") throw new AppError("UnsupportedKey", { detail: "A passkey's key is of ES256" });
  if (passkeys.relyingPartiesOf(appId).length === 0) {
    throw new AppError("UnsupportedKey", { detail: "This app has no passkeys here" });
  }
}
