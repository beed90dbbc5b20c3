import { CountersignClient, type KeyStore, type Login, recoverDevice } from "@countersign/client";

/** Signs in with the recovery key, which can do one thing: add a phone, after a time lock. */
export async function openWithRecoveryKey(baseUrl: string, cloud: KeyStore, logIn: (nonce: string) => Promise<Login>) {
  const recovery = new CountersignClient({ baseUrl, deviceKey: (await cloud.load())! });
  await recovery.signIn({ login: await logIn(recovery.loginNonce), chainName: "flow-emulator" });
  return recovery;
}

/** The first call starts the time lock, shown on all devices; the same call after it adds this phone. */
export const recoverPhone = (recovery: CountersignClient, device: CountersignClient, login: Login) =>
  recoverDevice({ recovery, device, login, chainName: "flow-emulator", attributes: { name: "New phone" } });
