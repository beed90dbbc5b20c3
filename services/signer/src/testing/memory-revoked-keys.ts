import type { AccountOnChain } from "../domain/ports.ts";

/** Revoked keys in memory. */
export function memoryRevokedKeys() {
  const keys = new Set<string>();
  const idOf = ({ accountId, chainName }: AccountOnChain, publicKey: string) =>
    `${accountId}/${chainName}/${publicKey.slice(0, 64)}`;
  return {
    clear: () => keys.clear(),
    record: async (account: AccountOnChain, publicKey: string) => void keys.add(idOf(account, publicKey)),
    has: async (account: AccountOnChain, publicKey: string) => keys.has(idOf(account, publicKey)),
  };
}
