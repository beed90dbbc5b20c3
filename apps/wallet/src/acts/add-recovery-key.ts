import {
  type ClientNetwork,
  type CountersignClient,
  type KeyStore,
  loadOrCreateKey,
  sendKeyChange,
} from "@countersign/client";
import type { TransactionHooks } from "@countersign/react";

/** A key for the day on which all phones are lost. Adding it later than the first day has a time lock. */
export async function addRecoveryKey(
  client: CountersignClient,
  { cloud, owner, network }: { cloud: KeyStore; owner: string; network: ClientNetwork },
  { confirm, onStatus }: TransactionHooks,
) {
  const newKey = await loadOrCreateKey(cloud);
  await client.registerRecoveryKey(newKey, owner);
  return sendKeyChange(client, { network, change: { template: "add-recovery-key", newKey }, confirm, onStatus });
}
