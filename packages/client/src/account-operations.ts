import type { PublicKey } from "@countersign/keys";
import { approveTwoFactor, type TwoFactorApproval } from "./approve-two-factor.ts";
import type { ApiRequest } from "./http.ts";
import type {
  Account,
  Device,
  DeviceChange,
  IdentityToken,
  Key,
  Network,
  ServerKeyRotation,
  Session,
  TimeLock,
  TransactionReference,
  TwoFactorAuth,
  UserKey,
} from "./resources.ts";
import type { ClientSession } from "./session.ts";
import { SigningOperations } from "./signing-operations.ts";

const twoFactorPath = (id: string): string => `/device/v1/2fa/${encodeURIComponent(id)}`;
const devicePath = (publicKey: string): string => `/device/v1/devices/${encodeURIComponent(publicKey)}`;

/** The operations of a signed-in device: each is one request with its session's token. */
export abstract class AccountOperations extends SigningOperations {
  readonly #session: ClientSession;

  constructor(deviceKey: UserKey, session: ClientSession) {
    super(deviceKey, session);
    this.#session = session;
  }

  #send<Answer>(
    operation: ApiRequest["operation"],
    method: ApiRequest["method"],
    path: string,
    body?: object,
    shows?: "frozen" | "unfrozen",
  ): Promise<Answer> {
    return this.#session.send<Answer>({ operation, method, path, body }, shows);
  }

  /**
   * Returns a 2FA request of the account, by its id or any id that it had with a message.
   * @example const { status } = await client.twoFactor(id);
   */
  async twoFactor(id: string): Promise<TwoFactorAuth> {
    type Answer = { twoFactorAuth: TwoFactorAuth };
    return (await this.#send<Answer>("twoFactor", "GET", twoFactorPath(id))).twoFactorAuth;
  }

  /**
   * Returns the pending 2FA requests of the account, newest first. A push or an event is only a hint to look
   * here.
   * @example
   * for (const { id, request } of await client.pendingTwoFactor()) show(`${id}: ${request.srcDevice.name}`);
   */
  async pendingTwoFactor(): Promise<TwoFactorAuth[]> {
    type Answer = { twoFactorAuths: TwoFactorAuth[] };
    return (await this.#send<Answer>("pendingTwoFactor", "GET", "/device/v1/2fa?status=pending")).twoFactorAuths;
  }

  /**
   * Sends the request to another device of the account; returns it with its new request id.
   * @example
   * const [tablet] = (await client.devices()).filter(({ name }) => name === "Ada's tablet");
   * const { request } = await client.redirectTwoFactor(id, tablet!.id);
   */
  async redirectTwoFactor(id: string, destDeviceId: string): Promise<TwoFactorAuth> {
    type Answer = { twoFactorAuth: TwoFactorAuth };
    return (await this.#send<Answer>("redirectTwoFactor", "PUT", twoFactorPath(id), { destDeviceId })).twoFactorAuth;
  }

  /**
   * Rejects the enrollment of a new device. Several rejections close the account for new requests for a
   * while.
   * @example await client.rejectTwoFactor(id);
   */
  rejectTwoFactor(id: string): Promise<void> {
    return this.#send("rejectTwoFactor", "DELETE", twoFactorPath(id));
  }

  /**
   * Approves the enrollment of a new device. With a matching code, the request is read again. It is signed
   * only if its message adds one key to this account, and the code is of that key and the new device's
   * identity key; otherwise KeyAdditionError or MatchingCodeError.
   * @example await client.approveTwoFactor(id, { matchingCode: typed });
   */
  approveTwoFactor(id: string, approval: TwoFactorApproval): Promise<void> {
    return approveTwoFactor(this, id, approval, (requestId, body) =>
      this.#send("approveTwoFactor", "POST", `${twoFactorPath(requestId)}/approve`, body),
    );
  }

  /**
   * Allows new requests again after several rejections.
   * @example await client.reopenTwoFactor();
   */
  reopenTwoFactor(): Promise<void> {
    return this.#send("reopenTwoFactor", "POST", "/device/v1/2fa/reopen");
  }

  /**
   * Stops all signing for the account. Where it is frozen, joins the freeze and cancels what others asked for
   * to lift it.
   * @example await client.freeze();
   */
  freeze(): Promise<void> {
    return this.#send("freeze", "POST", "/account/v1/freeze", undefined, "frozen");
  }

  /**
   * Lets the account sign again: at once if the device that froze it has asked too, or the recovery key has;
   * otherwise TimeLockRequired, and the same device lifts the freeze by asking again from `availableAt` on.
   * @example
   * await client.unfreeze().catch((error) => {
   *   if (!(error instanceof ProblemError) || error.error !== "TimeLockRequired") throw error;
   *   show(`Possible from ${error.availableAt} on`);
   * });
   */
  unfreeze(): Promise<void> {
    return this.#send("unfreeze", "POST", "/account/v1/unfreeze", undefined, "unfrozen");
  }

  /**
   * Returns a token that shows the app's backend which account and device called, for five minutes. It opens
   * nothing here. `nonce` is a value of the backend's, so that the token is of use for one sign-in there.
   * @example
   * const { identityToken } = await client.identityToken({ nonce: crypto.randomUUID() });
   * await fetch("https://app.example.com/sign-in", { method: "POST", body: identityToken });
   */
  identityToken({ nonce }: { nonce: string }): Promise<IdentityToken> {
    return this.#send<IdentityToken>("identityToken", "POST", "/auth/v1/identity-token", { nonce });
  }

  /**
   * Returns the live sessions of the account, on all of its devices.
   * @example for (const { id, app } of await client.sessions()) show(`${app.appName}: ${id}`);
   */
  async sessions(): Promise<Session[]> {
    return (await this.#send<{ sessions: Session[] }>("sessions", "GET", "/auth/v1/sessions")).sessions;
  }

  /**
   * Ends a session of the account, on any device.
   * @example
   * const [oldest] = await client.sessions();
   * await client.endSession(oldest!.id);
   */
  endSession(id: string): Promise<void> {
    return this.#send("endSession", "DELETE", `/auth/v1/sessions/${encodeURIComponent(id)}`);
  }

  /**
   * Ends every session of the account but this one.
   * @example await client.endOtherSessions();
   */
  endOtherSessions(): Promise<void> {
    return this.#send("endOtherSessions", "DELETE", "/auth/v1/sessions");
  }

  /**
   * Returns the account, with its address on each chain.
   * @example const { id, addresses } = await client.me();
   */
  async me(): Promise<Account> {
    return (await this.#send<{ account: Account }>("me", "GET", "/account/v1/me")).account;
  }

  /**
   * Returns the service's chains, each with its access node and paymaster, as `sendTransaction` takes them.
   * @example const [network] = await client.networks();
   */
  async networks(): Promise<Network[]> {
    return (await this.#send<{ networks: Network[] }>("networks", "GET", "/account/v1/networks")).networks;
  }

  /**
   * Makes the service read the account's parents from the chain. Errors: ParentNotLinked where there is none.
   * @example const { parent } = await client.linkParent();
   */
  async linkParent(): Promise<Omit<Account, "updatedAt">> {
    type Answer = { account: Omit<Account, "updatedAt"> };
    return (await this.#send<Answer>("linkParent", "POST", "/account/v1/parent")).account;
  }

  /**
   * Returns the rotations of the server key that wait for this device's signature; `rotateServerKeys` does
   * all of them.
   * @example const waiting = await client.serverKeyRotations();
   */
  async serverKeyRotations(): Promise<ServerKeyRotation[]> {
    type Answer = { rotations: ServerKeyRotation[] };
    return (await this.#send<Answer>("serverKeyRotations", "GET", "/account/v1/server-key-rotation")).rotations;
  }

  /**
   * Submits a rotation with this device's signature over its message. `done` is false until the chain has
   * sealed it.
   * @example
   * for (const rotation of await client.serverKeyRotations()) {
   *   const { signature } = await signMessageWith(client.deviceKey, hexToBytes(rotation.message));
   *   await client.submitServerKeyRotation({ ...rotation, signature });
   * }
   */
  submitServerKeyRotation(
    rotation: ServerKeyRotation & { signature: string; extensionData?: string },
  ): Promise<{ transaction: TransactionReference; done: boolean }> {
    return this.#send("submitServerKeyRotation", "POST", "/account/v1/server-key-rotation", rotation);
  }

  /**
   * Returns the devices of the account.
   * @example
   * for (const { name, lastUsedAt } of await client.devices()) show(`${name}, last used ${lastUsedAt}`);
   */
  async devices(): Promise<Device[]> {
    return (await this.#send<{ devices: Device[] }>("devices", "GET", "/device/v1/devices")).devices;
  }

  /**
   * Changes a device, by default this one.
   * @example await client.updateDevice({ pushToken: "token-of-the-platform" });
   */
  async updateDevice(change: DeviceChange, publicKey = this.deviceKey.publicKey): Promise<Device> {
    return (await this.#send<{ device: Device }>("updateDevice", "PUT", devicePath(publicKey), change)).device;
  }

  /**
   * Takes a device off the service: ends its sessions and blocks its keys. `revokeDevice` also revokes them
   * on chain.
   * @example
   * const [lost] = (await client.devices()).filter(({ name }) => name === "Lost phone");
   * await client.removeDevice(lost!.publicKey);
   */
  removeDevice(publicKey: string): Promise<void> {
    return this.#send("removeDevice", "DELETE", devicePath(publicKey));
  }

  /**
   * Returns the account's keys on all chains, by default the active ones.
   * @example const recoveryKeys = (await client.keys()).filter(({ type }) => type === "recover-key");
   */
  async keys({ includeRevoked = false } = {}): Promise<Key[]> {
    return (await this.#send<{ keys: Key[] }>("keys", "GET", `/key/v1/keys?include_revoked=${includeRevoked}`)).keys;
  }

  /**
   * Reports the account's recovery key, before or after `sendKeyChange` puts it on chain. Its private key is
   * never sent: it belongs in the person's cloud, encrypted under a secret that neither phone nor cloud has.
   * `accountName`: the name of the cloud account, for the list.
   * @example await client.registerRecoveryKey(newKey, "ada@icloud.example");
   */
  async registerRecoveryKey(key: PublicKey, accountName: string, chainName?: string): Promise<Key[]> {
    const { publicKey, algorithm } = key;
    const body = { recoveryKey: { publicKey, algorithm, cloudKey: { accountName } }, chainName };
    return (await this.#send<{ keys: Key[] }>("registerRecoveryKey", "POST", "/key/v1/recovery", body)).keys;
  }

  /**
   * Reports that a transaction has revoked a key, so that the list shows it at once; without the report it
   * takes some seconds.
   * @example
   * const oldKey = newKey.publicKey;
   * const { id } = await sendKeyChange(client, { network, change: { template: "revoke-user-key", oldKey } });
   * await client.reportRevocation(oldKey, id);
   */
  reportRevocation(publicKey: string, txId: string): Promise<void> {
    const path = `/key/v1/keys/${encodeURIComponent(publicKey)}?txId=${encodeURIComponent(txId)}`;
    return this.#send("reportRevocation", "DELETE", path);
  }

  /**
   * Returns the time locks of key changes, newest first.
   * @example const [newest] = await client.timeLocks();
   */
  async timeLocks(): Promise<TimeLock[]> {
    return (await this.#send<{ timeLocks: TimeLock[] }>("timeLocks", "GET", "/account/v1/time-locks")).timeLocks;
  }

  /**
   * Cancels a time lock; only for a device that was on the account before it started.
   * @example
   * const [newest] = await client.timeLocks();
   * if (newest) await client.cancelTimeLock(newest.id);
   */
  cancelTimeLock(id: string): Promise<void> {
    return this.#send("cancelTimeLock", "DELETE", `/account/v1/time-locks/${encodeURIComponent(id)}`);
  }
}
