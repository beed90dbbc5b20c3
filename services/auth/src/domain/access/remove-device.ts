import { AppError, type Clock, type VerifiedToken } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import type { FreezeStore } from "../freeze/freeze-account.ts";
import { deviceParty, mayRemove, type UnfreezeTimeLocks } from "../freeze/freeze-rules.ts";
import type { AccessStore } from "./revoked-access.ts";

export interface RemoveDeviceOptions<Call, Access> {
  readonly access: Pick<AccessStore, "cutOff">;
  readonly freezes: Pick<FreezeStore, "find">;
  readonly timeLocks: Pick<UnfreezeTimeLocks, "deviceMs">;
  readonly clock: Clock;
  /** key.v1.Keys/DescribeAccess: what signs in to the account now. Errors: ChainUnavailable, Unavailable. */
  describeAccess(accountId: string, call: Call): Promise<Access>;
  /**
   * device.v1.Devices/RemoveDevice: decides who may, and takes the device from the list. `access` where a
   * device removes itself. Errors: DeviceNotFound, DeviceTooYoung, LastDevice.
   */
  removeFromList(publicKey: Uint8Array, access: Access | undefined, call: Call): Promise<PublicKey>;
}

const FROZE =
  "The device that froze the account cannot be removed yet: wait for the time lock after which a device lifts a freeze";

/**
 * Removes a device of the token's account. The list goes first, because it decides who may; should this
 * process die in between, the event of the removal does the rest (subscribers/device-removed.ts), and so does
 * a repeated request. Errors: AccountFrozen where mayRemove forbids it; those of describeAccess and
 * removeFromList.
 */
export const removeDevice =
  <Call extends { requestId: string }, Access>(options: RemoveDeviceOptions<Call, Access>) =>
  async (token: VerifiedToken, publicKey: Uint8Array, call: Call): Promise<PublicKey> => {
    const { access, freezes, timeLocks, clock, describeAccess, removeFromList } = options;
    const { accountId, deviceKey: ownKey } = token;
    const now = clock.now();
    const freeze = await freezes.find(accountId, now);
    const by = deviceParty(ownKey);
    // The request names bytes only; among the devices of one account no two algorithms share them.
    const named = Buffer.from(publicKey).toString("hex");
    const device = freeze?.frozenBy.endsWith(`/${named}`) ? freeze.frozenBy : "";
    if (!mayRemove(freeze, { by, device, now, timeLocks })) throw new AppError("AccountFrozen", { detail: FROZE });
    // Only a device that removes itself may be the last one. Removing a stolen one needs no further service.
    const left = ownKey.publicKey === named ? await describeAccess(accountId, call) : undefined;
    const deviceKey = await removeFromList(publicKey, left, call);
    await access.cutOff({ accountId, deviceKey, removedAt: clock.now(), requestId: call.requestId });
    return deviceKey;
  };
