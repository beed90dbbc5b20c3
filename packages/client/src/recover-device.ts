import type { CountersignClient } from "./countersign-client.ts";
import type { DeviceAttributes, Login, SignedIn } from "./resources.ts";

/** Options of `recoverDevice`. */
export interface RecoverDeviceOptions {
  /** Signed in with the recovery key, which is its `deviceKey`. */
  recovery: CountersignClient;
  /** The new device. */
  device: CountersignClient;
  /** A login of the person, made with the new device's `loginNonce`. */
  login: Login;
  /** The chain whose account gets the key. */
  chainName: string;
  /** The new device, as its person will read of it. */
  attributes?: DeviceAttributes;
  /** Ends the wait for the seal. */
  signal?: AbortSignal;
}

/**
 * Enrolls a new device with the recovery key, for a person who has lost all devices; one program holds both
 * keys. The first call rejects with TimeLockRequired (403). Its `availableAt` says when to call again, for
 * the same device key and with a new login; every device and the e-mail address are notified.
 * TimeLockCancelled: a device of the account cancelled it.
 * @example
 * const recovery = new CountersignClient({ baseUrl, deviceKey: recoveryKey });
 * await recovery.signIn({ login, chainName });
 * const { account } = await recoverDevice({ recovery, device: client, login, chainName });
 */
export async function recoverDevice(options: RecoverDeviceOptions): Promise<SignedIn> {
  const { recovery, device, login, chainName, attributes, signal } = options;
  const { accessToken: recoveryToken } = await recovery.refresh();
  const described = attributes && { device: attributes };
  const asked = await device.requestTwoFactor({ login, chainName, recoveryToken, ...described });
  // The person types nothing: both keys are here. The message is checked all the same.
  await recovery.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: device.matchingCode() });
  return device.waitForTwoFactor(asked, { signIn: { login, chainName }, ...(signal && { signal }) });
}
