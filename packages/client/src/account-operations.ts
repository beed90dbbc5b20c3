import type { PublicKey } from "@countersign/keys";
import { approveTwoFactor, type TwoFactorApproval } from "./approve-two-factor.ts";
import type { ApiRequest } from "./http.ts";
import type {
  Account,
  CompositeSignature,
  Device,
  DeviceChange,
  Key,
  ServerKeyRotation,
  Session,
  TimeLock,
  TransactionReference,
  TwoFactorAuth,
  UserKey,
} from "./resources.ts";
import type { ClientSession } from "./session.ts";

const twoFactorPath = (id: string): string => `/device/v1/2fa/${encodeURIComponent(id)}`;
const devicePath = (publicKey: string): string => `/device/v1/devices/${encodeURIComponent(publicKey)}`;

/** The operations of a signed-in device: each is one request with its session's token. */
export abstract class AccountOperations {
  /**
   * This device's key.
   * @example console.log(client.deviceKey.publicKey);
   */
  readonly deviceKey: UserKey;
  readonly #session: ClientSession;

  constructor(deviceKey: UserKey, session: ClientSession) {
    this.deviceKey = deviceKey;
    this.#session = session;
  }

  #send<Answer>(
    operation: ApiRequest["operation"],
    method: ApiRequest["method"],
    path: string,
    body?: object,
  ): Promise<Answer> {
    return this.#session.send<Answer>({ operation, method, path, body });
  }

  /** Returns a 2FA request of the account, by its id or any id that it had with a message. */
  async twoFactor(id: string): Promise<TwoFactorAuth> {
    type Answer = { twoFactorAuth: TwoFactorAuth };
    return (await this.#send<Answer>("twoFactor", "GET", twoFactorPath(id))).twoFactorAuth;
  }

  /**
   * Returns the pending 2FA requests of the account, newest first. A push or an event is only a hint to look
   * here.
   */
  async pendingTwoFactor(): Promise<TwoFactorAuth[]> {
    type Answer = { twoFactorAuths: TwoFactorAuth[] };
    return (await this.#send<Answer>("pendingTwoFactor", "GET", "/device/v1/2fa?status=pending")).twoFactorAuths;
  }

  /** Sends the request to another device of the account; returns it with its new request id. */
  async redirectTwoFactor(id: string, destDeviceId: string): Promise<TwoFactorAuth> {
    type Answer = { twoFactorAuth: TwoFactorAuth };
    return (await this.#send<Answer>("redirectTwoFactor", "PUT", twoFactorPath(id), { destDeviceId })).twoFactorAuth;
  }

  rejectTwoFactor(id: string): Promise<void> {
    return this.#send("rejectTwoFactor", "DELETE", twoFactorPath(id));
  }

  /**
   * Approves the enrollment of a new device. With a matching code, the request is read again. It is signed
   * only if its message adds one key to this account, and that key and the new device's identity key give the
   * same code; otherwise KeyAdditionError or MatchingCodeError.
   */
  approveTwoFactor(id: string, approval: TwoFactorApproval): Promise<void> {
    return approveTwoFactor(this, id, approval, (requestId, body) =>
      this.#send("approveTwoFactor", "POST", `${twoFactorPath(requestId)}/approve`, body),
    );
  }

  /** Allows new requests again after several rejections. */
  reopenTwoFactor(): Promise<void> {
    return this.#send("reopenTwoFactor", "POST", "/device/v1/2fa/reopen");
  }

  /**
   * Stops all signing for the account. Where it is frozen, joins the freeze and cancels what others asked for
   * to lift it.
   */
  async freeze(): Promise<void> {
    await this.#send("freeze", "POST", "/account/v1/freeze");
    this.#session.note("frozen");
  }

  /**
   * Lets the account sign again: at once if the device that froze it has asked too, or the recovery key has;
   * otherwise TimeLockRequired, and the same device lifts the freeze by asking again from `availableAt` on.
   */
  async unfreeze(): Promise<void> {
    await this.#send("unfreeze", "POST", "/account/v1/unfreeze");
    this.#session.note("unfrozen");
  }

  async sessions(): Promise<Session[]> {
    return (await this.#send<{ sessions: Session[] }>("sessions", "GET", "/auth/v1/sessions")).sessions;
  }

  endSession(id: string): Promise<void> {
    return this.#send("endSession", "DELETE", `/auth/v1/sessions/${encodeURIComponent(id)}`);
  }

  /** Ends every session of the account but this one. */
  endOtherSessions(): Promise<void> {
    return this.#send("endOtherSessions", "DELETE", "/auth/v1/sessions");
  }

  async me(): Promise<Account> {
    return (await this.#send<{ account: Account }>("me", "GET", "/account/v1/me")).account;
  }

  /**
   * Makes the service read the account's parents from the chain. Errors: ParentNotLinked where there is none.
   */
  async linkParent(): Promise<Omit<Account, "updatedAt">> {
    type Answer = { account: Omit<Account, "updatedAt"> };
    return (await this.#send<Answer>("linkParent", "POST", "/account/v1/parent")).account;
  }

  /**
   * Returns the rotations of the server key that wait for this device's signature; `rotateServerKeys` does
   * all of them.
   */
  async serverKeyRotations(): Promise<ServerKeyRotation[]> {
    type Answer = { rotations: ServerKeyRotation[] };
    return (await this.#send<Answer>("serverKeyRotations", "GET", "/account/v1/server-key-rotation")).rotations;
  }

  /**
   * Submits a rotation with this device's signature over its message. `done` is false until the chain has
   * sealed it.
   */
  submitServerKeyRotation(
    rotation: ServerKeyRotation & { signature: string; extensionData?: string },
  ): Promise<{ transaction: TransactionReference; done: boolean }> {
    return this.#send("submitServerKeyRotation", "POST", "/account/v1/server-key-rotation", rotation);
  }

  async devices(): Promise<Device[]> {
    return (await this.#send<{ devices: Device[] }>("devices", "GET", "/device/v1/devices")).devices;
  }

  /** Changes a device, by default this one. */
  async updateDevice(change: DeviceChange, publicKey = this.deviceKey.publicKey): Promise<Device> {
    return (await this.#send<{ device: Device }>("updateDevice", "PUT", devicePath(publicKey), change)).device;
  }

  removeDevice(publicKey: string): Promise<void> {
    return this.#send("removeDevice", "DELETE", devicePath(publicKey));
  }

  async keys({ includeRevoked = false } = {}): Promise<Key[]> {
    return (await this.#send<{ keys: Key[] }>("keys", "GET", `/key/v1/keys?include_revoked=${includeRevoked}`)).keys;
  }

  /**
   * Reports the account's recovery key, before or after `sendKeyChange` puts it on chain. Its private key is
   * never sent: it belongs in the person's cloud, encrypted under a secret that neither phone nor cloud has.
   * `accountName`: the name of the cloud account, for the list.
   */
  async registerRecoveryKey(key: PublicKey, accountName: string, chainName?: string): Promise<Key[]> {
    const { publicKey, algorithm } = key;
    const body = { recoveryKey: { publicKey, algorithm, cloudKey: { accountName } }, chainName };
    return (await this.#send<{ keys: Key[] }>("registerRecoveryKey", "POST", "/key/v1/recovery", body)).keys;
  }

  /**
   * Reports that a transaction has revoked a key, so that the list shows it at once; without the report it
   * takes some seconds.
   */
  reportRevocation(publicKey: string, txId: string): Promise<void> {
    const path = `/key/v1/keys/${encodeURIComponent(publicKey)}?txId=${encodeURIComponent(txId)}`;
    return this.#send("reportRevocation", "DELETE", path);
  }

  /** Returns the time locks of key changes, newest first. */
  async timeLocks(): Promise<TimeLock[]> {
    return (await this.#send<{ timeLocks: TimeLock[] }>("timeLocks", "GET", "/account/v1/time-locks")).timeLocks;
  }

  /** Cancels a time lock; only for a device that was on the account before it started. */
  cancelTimeLock(id: string): Promise<void> {
    return this.#send("cancelTimeLock", "DELETE", `/account/v1/time-locks/${encodeURIComponent(id)}`);
  }

  /**
   * Returns the server key's signature over a transaction's payload; `message` is hex of domain tag and RLP.
   */
  signTransaction(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("signTransaction", "/sign/v1/cadence/transaction", { message, chainName });
  }

  /**
   * Returns the paymaster's signature over a transaction's envelope; `message` is hex of domain tag and RLP.
   */
  signPaymaster(message: string, chainName?: string): Promise<CompositeSignature> {
    return this.#sign("signPaymaster", "/sign/v1/cadence/paymaster", { message, chainName });
  }

  async #sign(operation: ApiRequest["operation"], path: string, body: object): Promise<CompositeSignature> {
    const { signature } = await this.#send<{ signature: CompositeSignature }>(operation, "POST", path, body);
    this.#session.note("unfrozen");
    return signature;
  }
}
