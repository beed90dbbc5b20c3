import { type AccessApi, throwIfAborted } from "@countersign/flow";
import { accessOf, type ClientNetwork, cadenceAddress, plainAddress } from "./chain-account.ts";
import type { CountersignClient } from "./countersign-client.ts";
import { ProblemError, SessionEndedError } from "./problem-error.ts";
import type { Device, Key } from "./resources.ts";
import { sendKeyChange } from "./send-key-change.ts";
import { TransactionFailedError } from "./wait-for-transaction.ts";

/** Options of `revokeDevice`. */
export interface RevokeDeviceOptions {
  /** The chains as this client knows them; keys on others stay "open". */
  networks: readonly ClientNetwork[];
  /** Called whenever a part is done or begins, so that an app can show which is still under way. */
  onProgress?: (revocation: DeviceRevocation) => void;
  /** Ends the call; what is done stays done. */
  signal?: AbortSignal;
  /** Default: the REST API of each network's access node. */
  accessApi?: AccessApi;
}

/** How far the revocation of one of the device's keys has come on one chain. */
export interface KeyRevocation {
  /** The chain of the key. */
  chainName: string;
  /** The key on chain, 128 hex digits. */
  publicKey: string;
  /**
   * "revoked": the chain shows it. "pending": a transaction is under way. "time-locked": it is granted from
   * `availableAt` on. "open": nothing is under way; `error` says why.
   */
  state: "revoked" | "pending" | "time-locked" | "open";
  /** The transaction of this call; "" without one. */
  transactionId: string;
  /** For "time-locked": when to call again (ISO 8601); "" otherwise. */
  availableAt: string;
  /** For "time-locked": the time lock's id, to cancel it; "" otherwise. */
  timeLockId: string;
  /** Why nothing is under way. */
  error?: Error;
}

/** The state of a device's revocation, key by key. */
export interface DeviceRevocation {
  /** Its identity key. */
  publicKey: string;
  /**
   * Whether it is off the account: its sessions have ended, and its keys neither sign in nor are co-signed
   * for.
   */
  removed: boolean;
  /** Why it is not: DeviceTooYoung, where this device is new on the account and the other one older. */
  refusal?: ProblemError;
  /** Each key of the device, on each chain. */
  keys: KeyRevocation[];
  /** Removed, and all its keys revoked on chain. Otherwise call again: what is done is not done twice. */
  done: boolean;
}

/**
 * Takes a device off the account for good: removes it from the service, and revokes its keys on each chain by
 * the service's template, co-signed and sponsored. May be called again at any time, also after a crash
 * between the two. Rejects where nothing is under way, or the session cannot continue: with ProblemError
 * (DeviceNotFound, LoginTooOld), SessionEndedError, and the signal's reason when it aborts. The result has
 * the state of each key.
 * @example
 * const [lost] = (await client.devices()).filter(({ name }) => name === "Lost phone");
 * const { done, keys } = await revokeDevice(client, lost!, { networks: [network] });
 */
export async function revokeDevice(
  client: CountersignClient,
  device: string | Pick<Device, "publicKey">,
  options: RevokeDeviceOptions,
): Promise<DeviceRevocation> {
  const publicKey = plainAddress(typeof device === "string" ? device : device.publicKey);
  if (publicKey === client.deviceKey.publicKey) {
    throw new Error("a device cannot revoke its own key: revoke it from another device of the account");
  }
  // Read first: whose keys they are is what the rest needs to know.
  const registered = await client.keys({ includeRevoked: true });
  const keys = registered.filter((key) => isKeyOf(key, publicKey)).map(openRevocation);
  const refusal = await remove(client, publicKey);
  const revocation: DeviceRevocation = { publicKey, removed: !refusal, ...(refusal && { refusal }), keys, done: false };
  const report = () => {
    revocation.done = revocation.removed && keys.every(({ state }) => state === "revoked");
    options.onProgress?.({ ...revocation, keys: keys.map((key) => ({ ...key })) });
  };
  report();
  for (const key of keys) {
    if (key.state === "revoked") continue;
    await revokeKey(client, key, options, report);
    report();
  }
  return revocation;
}

const isKeyOf = ({ type, publicKey, userKey }: Key, device: string): boolean =>
  type === "user-key" && (userKey?.devicePublicKey || userKey?.device?.publicKey || publicKey) === device;

const openRevocation = ({ chainName, publicKey, revokedAt }: Key): KeyRevocation => ({
  chainName,
  publicKey,
  state: revokedAt === "" ? "open" : "revoked",
  transactionId: "",
  availableAt: "",
  timeLockId: "",
});

/**
 * Removes the device from the service; a removed one stays so. Gives the refusal of a device that is too
 * young to do it.
 */
async function remove(client: CountersignClient, publicKey: string): Promise<ProblemError | undefined> {
  try {
    await client.removeDevice(publicKey);
    return undefined;
  } catch (error) {
    if (error instanceof ProblemError && error.error === "DeviceTooYoung") return error;
    throw error;
  }
}

async function revokeKey(
  client: CountersignClient,
  key: KeyRevocation,
  { networks, signal, accessApi }: RevokeDeviceOptions,
  report: () => void,
): Promise<void> {
  const { chainName, publicKey } = key;
  const network = networks.find((each) => each.chainName === chainName);
  if (!network) {
    key.error = new Error(`this client does not know the chain ${chainName}`);
    return;
  }
  const access = accessOf({ network, accessApi });
  try {
    const address = await cadenceAddress(client, chainName);
    const isRevoked = async () => {
      const onChain = await access.accountKeys(plainAddress(address), signal);
      return !onChain.some((each) => !each.revoked && each.publicKey === publicKey);
    };
    if (!(await isRevoked())) {
      const onSubmitted = (id: string) => {
        Object.assign(key, { state: "pending", transactionId: id });
        report();
      };
      const sending = sendKeyChange(client, {
        network,
        address,
        change: { template: "revoke-user-key", oldKey: publicKey },
        accessApi: access,
        onSubmitted,
        ...(signal && { signal }),
      });
      await sending.catch(async (error: unknown) => {
        // Another device, or an earlier call, was faster: then the template finds no such key.
        if (!(error instanceof TransactionFailedError) || !(await isRevoked())) throw error;
        key.transactionId = "";
      });
    }
    key.state = "revoked";
  } catch (error) {
    throwIfAborted(signal);
    if (!(error instanceof Error) || error instanceof SessionEndedError) throw error;
    noteFailure(key, error);
    return;
  }
  // Only so that the list shows it at once: the service follows the chain by itself.
  if (key.transactionId !== "") await client.reportRevocation(publicKey, key.transactionId).catch(() => undefined);
}

function noteFailure(key: KeyRevocation, error: Error): void {
  if (error instanceof ProblemError) {
    if (error.error === "LoginTooOld") throw error;
    const isTimeLocked = error.error === "TimeLockRequired";
    const { availableAt, timeLockId } = error;
    Object.assign(key, isTimeLocked ? { state: "time-locked", availableAt, timeLockId } : { state: "open", error });
    return;
  }
  // Without a word of the chain, what was submitted may still run.
  const mayRun = key.state === "pending" && !(error instanceof TransactionFailedError);
  Object.assign(key, mayRun ? { error } : { state: "open", error });
}
