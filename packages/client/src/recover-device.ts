import type { CountersignClient } from "./countersign-client.ts";
import type { DeviceAttributes, Login, SignedIn } from "./resources.ts";

export interface RecoverDeviceOptions {
  /** Signed in with the recovery key, which is its `deviceKey`. */
  recovery: CountersignClient;
  /** The new device. */
  device: CountersignClient;
  /** A login of the person, made with the new device's `loginNonce`. */
  login: Login;
  chainName: string;
  attributes?: DeviceAttributes;
  /** Ends the wait for the seal. */
  signal?: AbortSignal;
}

/**
 * Lets a new device in with the recovery key: for somebody whose devices are all lost, in one hand. The first time it rejects with TimeLockRequired (403), whose
 * `availableAt` says when the same is granted; every device and the e-mail address are told. Then it is to be called again, for the same device key and
 * with a new login. TimeLockCancelled: a device of the account has cancelled it.
 */
export async function recoverDevice(options: RecoverDeviceOptions): Promise<SignedIn> {
  const { recovery, device, login, chainName, attributes, signal } = options;
  const asked = await device.requestTwoFactor({ login, chainName, ...(attributes && { device: attributes }) });
  // Both sides are in one hand, so the codes are the same; the message is checked all the same.
  await recovery.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: await device.matchingCode(asked) });
  return device.waitForTwoFactor(asked, signal ? { signal } : {});
}
