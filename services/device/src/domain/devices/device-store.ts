import type { PublicKey } from "@countersign/keys";
import type { Device } from "./device.ts";

/** A change of a device; committed together with the change. */
export interface DeviceEvent {
  type: "device-registered" | "device-updated" | "device-removed";
  device: Device;
  occurredAt: Date;
  requestId: string;
}

/** One account's devices inside one exclusive transaction. */
export interface AccountDevices {
  /** The device last removed with this identity key (canonical hex). */
  findRemoved(publicKey: string): Promise<Device | undefined>;
  listLive(): Promise<Device[]>;
  /** Inserts a device with its event; false, and nothing written, where the id is taken, on any account. */
  insert(registered: DeviceEvent): Promise<boolean>;
  /** Writes the device's attributes and `removedAt`, with the event. */
  update(changed: DeviceEvent): Promise<void>;
}

export interface DeviceStore {
  /**
   * Registers a device with its event, in one commit, if it is the account's first and no account has its id;
   * otherwise changes nothing and returns false.
   */
  insertFirst(registered: DeviceEvent): Promise<boolean>;
  /**
   * Runs `work` in one transaction, alone among all replicas for this account; an error rolls everything
   * back.
   */
  withAccount<T>(accountId: string, work: (devices: AccountDevices) => Promise<T>): Promise<T>;
  /** Live devices, most recently used first. */
  listLive(accountId: string): Promise<Device[]>;
  /**
   * Moves lastUsedAt of the live device with this key forward, never backwards. Returns when the device was
   * registered; undefined where there is none.
   */
  touch(accountId: string, publicKey: PublicKey, usedAt: Date): Promise<Date | undefined>;
}
