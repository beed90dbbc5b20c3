import type { RevokedKeys } from "../domain/revoked-keys.ts";

/** Revoked keys in memory. */
export function memoryRevokedKeys(): RevokedKeys & { clear(): void } {
  const keys = new Set<string>();
  const idOf: (...of: Parameters<RevokedKeys["has"]>) => string = ({ accountId, chainName }, publicKey) =>
    `${accountId}/${chainName}/${publicKey.slice(0, 64)}`;
  return {
    clear: () => keys.clear(),
    remember: async (account, publicKey) => void keys.add(idOf(account, publicKey)),
    has: async (account, publicKey) => keys.has(idOf(account, publicKey)),
  };
}
