import { indexedDbKeyStore } from "@countersign/client";

/*
 * In place of the person's cloud: recovery keys by their owner's e-mail address. A real app keeps them
 * encrypted in iCloud or Google Drive, under a secret that neither the phone nor the cloud has.
 */
const OWNERS = "wallet/cloud";

export const cloudOf = (owner: string) => indexedDbKeyStore({ database: OWNERS, name: owner });

/** Returns the owners whose recovery keys are on chain. */
export const ownersInCloud = (): string[] => JSON.parse(localStorage.getItem(OWNERS) ?? "[]") as string[];

export function noteInCloud(owner: string): void {
  localStorage.setItem(OWNERS, JSON.stringify([...new Set([...ownersInCloud(), owner])]));
}
