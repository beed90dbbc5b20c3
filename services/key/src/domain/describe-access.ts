import { type PublicKey, samePublicKey } from "@countersign/keys";
import type { FollowChain } from "./follow-chain.ts";
import type { KeyStore } from "./ports.ts";
import { type Registration, signsIn } from "./registration.ts";

/** The keys that sign in to an account on one chain. */
interface ChainAccess {
  chainName: string;
  /** Identity keys of devices that hold an active key, each once. */
  deviceKeys: PublicKey[];
  /** A reported recovery key is active on chain. */
  recoveryKey: boolean;
}

/**
 * Returns what signs in on each chain by the account's registrations, without reported recovery keys that the
 * chain does not show.
 */
export function accessOf(registrations: readonly Registration[]): ChainAccess[] {
  const byChain = new Map<string, ChainAccess>();
  for (const { chainName, kind, deviceKey } of registrations.filter(signsIn)) {
    const access = byChain.get(chainName) ?? { chainName, deviceKeys: [], recoveryKey: false };
    byChain.set(chainName, access);
    if (kind === "recovery") access.recoveryKey = true;
    else if (!access.deviceKeys.some((key) => samePublicKey(key, deviceKey))) access.deviceKeys.push(deviceKey);
  }
  return [...byChain.values()];
}

/**
 * Returns what signs in to an account, after following its chains: an old answer could cost the person the
 * account. Errors: those of followChain.
 */
export function describeAccess(options: { store: KeyStore; follow(command: FollowChain): Promise<void> }) {
  const { store, follow } = options;
  return async (command: Pick<FollowChain, "accountId" | "requestId">): Promise<ChainAccess[]> => {
    await follow(command);
    return accessOf(await store.list(command.accountId, { includeRevoked: false }));
  };
}
