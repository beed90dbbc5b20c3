import { type ChainLine, changedAccounts, type EventLine, type Found, type SignedUp } from "@countersign/runtime";
import type { Vault } from "../vault/index.ts";

type Created = Extract<ChainLine, { kind: "created" }>;

/** Returns the ids that an account on chain may have, by sign-ups with its key, events and the report. */
export function candidatesOf(signedUp: readonly SignedUp[], events: Iterable<EventLine>, lines: readonly ChainLine[]) {
  const byPlace = new Map<string, Set<string>>();
  const add = (place: string, accountId: string) =>
    byPlace.set(place, (byPlace.get(place) ?? new Set()).add(accountId));
  for (const { chainName, userKey, accountId } of signedUp) add(`${chainName}/${userKey.publicKey}`, accountId);
  for (const { chainName, address, accountId } of changedAccounts(lines, [])) add(`${chainName}/${address}`, accountId);
  for (const { event } of events) {
    const { accountId, addressBound, accountDeployed } = event;
    if (addressBound) add(`${addressBound.chainName}/${addressBound.address}`, accountId);
    for (const { chainName, address } of accountDeployed?.addresses ?? [])
      add(`${chainName}/${address.replace(/^0x/, "")}`, accountId);
  }
  return ({ chainName, address, userKey }: Created): string[] => [
    ...(byPlace.get(`${chainName}/${address}`) ?? []),
    ...(byPlace.get(`${chainName}/${userKey.publicKey}`) ?? []),
  ];
}

/** Returns the account whose derived server key is on chain: nothing else proves an id. */
export async function findAccount(
  vault: Vault,
  created: Created,
  accountIds: readonly string[],
): Promise<Found | undefined> {
  const { chainName, address, serverKey, userKey, transactionId } = created;
  for (const accountId of new Set(accountIds)) {
    const serverKeyVersion = await serverVersions(vault, { accountId, chainName })(serverKey);
    if (serverKeyVersion !== undefined)
      return { accountId, chainName, address, userKey, transactionId, serverKeyIndex: 0, serverKeyVersion };
  }
  return undefined;
}

/** Returns how to find the version of an account's server key on a chain; undefined for another's key. */
export const serverVersions =
  (vault: Vault, { accountId, chainName }: { accountId: string; chainName: string }) =>
  async (serverKey: string): Promise<number | undefined> => {
    for (const version of vault.versions("server")) {
      const { publicKey } = await vault.publicKey({ role: "server", chainName, accountId, version });
      if (publicKey === serverKey) return version;
    }
    return undefined;
  };
