import type { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import type { Handlers } from "@countersign/rpc";
import { listDevices } from "../domain/devices/list-devices.ts";
import { type RegisterDeviceOptions, registerDevice } from "../domain/devices/register-device.ts";
import { removeDevice } from "../domain/devices/remove-device.ts";
import { updateDevice } from "../domain/devices/update-device.ts";
import { type WatchAccountOptions, watchAccount } from "../events/watch-account.ts";
import { listDevicesRpc } from "./list-devices.ts";
import { registerDeviceRpc } from "./register-device.ts";
import { removeDeviceRpc } from "./remove-device.ts";
import { updateDeviceRpc } from "./update-device.ts";
import { watchAccountEventsRpc } from "./watch-account-events.ts";

/** The RPCs of device.v1.Devices over these ports. */
export const devicesHandlers = (options: RegisterDeviceOptions): Handlers<DevicesService> => ({
  registerDevice: registerDeviceRpc(registerDevice(options)),
  listDevices: listDevicesRpc(listDevices(options)),
  updateDevice: updateDeviceRpc(updateDevice(options)),
  removeDevice: removeDeviceRpc(removeDevice(options)),
});

/** The RPCs of device.v1.AccountEvents over the stream of events. */
export const accountEventsHandlers = (options: WatchAccountOptions): Handlers<AccountEventsService> => ({
  watch: watchAccountEventsRpc(watchAccount(options)),
});
