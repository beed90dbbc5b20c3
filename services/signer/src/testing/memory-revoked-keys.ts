import type { AccountOnChain, AddedKeys, RevokedKeys } from "../domain/ports.ts";

/** Revoked keys in memory. `added`: the user keys of the same accounts. */
export function memoryRevokedKeys(added: () => Pick<AddedKeys, "find">) {
  const keys = new Set<string>();
  const idOf = ({ accountId, chainName }: AccountOnChain, publicKey: string) =>
    `${accountId}/${chainName}/${publicKey.slice(0, 64)}`;
  const has = async (account: AccountOnChain, publicKey: string) => keys.has(idOf(account, publicKey));
  return {
    clear: () => keys.clear(),
    record: async (account: AccountOnChain, publicKey: string) => void keys.add(idOf(account, publicKey)),
    has,
    forbidAddition: async (...[account, publicKey, by]: Parameters<RevokedKeys["forbidAddition"]>) => {
      const known = await added().find(account, publicKey);
      const isOver = known?.source === "recovery" && known.firstSignedAt <= by.renewableSince;
      return (await has(account, publicKey)) && (by.source === "device" || known?.source === "creation" || isOver);
    },
    forget: async (account: AccountOnChain, publicKey: string) => void keys.delete(idOf(account, publicKey)),
  };
}
