import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { FollowChain } from "./follow-chain.ts";
import type { KeyStore } from "./ports.ts";
import { isActive, type Registration, SIGN_IN_ORIGINS } from "./registration.ts";

/** What signs in to an account on one chain. */
export interface ChainAccess {
  chainName: string;
  /** Identity keys of devices that hold an active key, each once. */
  deviceKeys: PublicKey[];
  /** A reported recovery key is active on chain. */
  recoveryKey: boolean;
}

/**
 * What signs in on each chain, by the account's registrations: reported recovery keys that the chain does not
 * show do not.
 */
export function accessOf(registrations: readonly Registration[]): ChainAccess[] {
  const signsIn = registrations.filter((each) => isActive(each) && SIGN_IN_ORIGINS.includes(each.origin));
  const byChain = new Map<string, ChainAccess>();
  for (const { chainName, kind, deviceKey } of signsIn) {
    const access = byChain.get(chainName) ?? { chainName, deviceKeys: [], recoveryKey: false };
    byChain.set(chainName, access);
    if (kind === "recovery") access.recoveryKey = true;
    else if (!access.deviceKeys.some((key) => samePublicKey(key, deviceKey))) access.deviceKeys.push(deviceKey);
  }
  return [...byChain.values()];
}

/**
 * What signs in to an account, in step with its chains. Errors: those of followChain; an old answer could
 * cost somebody the account.
 */
export function describeAccess(options: { store: KeyStore; follow(command: FollowChain): Promise<void> }) {
  const { store, follow } = options;
  return async (command: Pick<FollowChain, "accountId" | "requestId">): Promise<ChainAccess[]> => {
    await follow(command);
    return accessOf(await store.list(command.accountId, { includeRevoked: false }));
  };
}
