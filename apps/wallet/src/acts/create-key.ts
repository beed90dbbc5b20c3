import { browserCredentials, CountersignClient, indexedDbKeyStore, loadOrCreateKey } from "@countersign/client";

/** A key that no script can read, only use. With passkeyStore({ rpId, … }) it is a passkey. */
export async function openClient(baseUrl: string) {
  const deviceKey = await loadOrCreateKey(indexedDbKeyStore());
  return new CountersignClient({ baseUrl, deviceKey, store: browserCredentials() });
}
