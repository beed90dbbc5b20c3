import { AppError, type Clock, type DeviceAttributes, invalidField } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import type { Device, Session } from "./device.ts";
import type { DeviceStore } from "./device-store.ts";

/** The attributes that may change; a device keeps the type that it registered as. */
export type DeviceChanges = Partial<Omit<DeviceAttributes, "type">>;

interface UpdateDevice {
  session: Session;
  /** Identity key of the device to change, canonical hex. */
  publicKey: string;
  /** If present, it must be the device's own id. */
  id?: string | undefined;
  changes: DeviceChanges;
  requestId: string;
}

const differs = (device: Device, changes: DeviceChanges): boolean =>
  Object.entries(changes).some(([name, value]) => device.attributes[name as keyof DeviceChanges] !== value);

/**
 * Changes the given attributes of a device of the session's account and returns the device as it is then.
 * Errors: DeviceNotFound; InvalidRequest (another id); PushTokenNotYours (a push token from another device's
 * session).
 *
 * Writes: the changed device and its event, in one commit; nothing where nothing differs.
 * Crash: nothing or all of it is written; a repeated call changes nothing.
 * Race: one call of an account at a time, over all replicas.
 */
export function updateDevice({ store, clock }: { store: DeviceStore; clock: Clock }) {
  return (command: UpdateDevice): Promise<Device> =>
    store.withAccount(command.session.accountId, async (devices) => {
      const live = await devices.listLive();
      const device = live.find(({ publicKey }) => publicKey.publicKey === command.publicKey);
      if (!device) throw new AppError("DeviceNotFound");
      if (command.id !== undefined && command.id.toLowerCase() !== device.id)
        throw invalidField("/id", "is not the device's own");
      const own = samePublicKey(device.publicKey, command.session.deviceKey);
      if (command.changes.pushToken !== undefined && !own) throw new AppError("PushTokenNotYours");

      // A repeated call changes nothing and emits no event.
      if (!differs(device, command.changes)) return device;
      const changed: Device = { ...device, attributes: { ...device.attributes, ...command.changes } };
      const { requestId } = command;
      await devices.update({ type: "device-updated", device: changed, occurredAt: clock.now(), requestId });
      return changed;
    });
}
