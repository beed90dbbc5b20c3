import type { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import type { Handlers } from "@countersign/service-kit";
import { listDevices } from "../domain/list-devices.ts";
import { type RegisterDeviceOptions, registerDevice } from "../domain/register-device.ts";
import { removeDevice } from "../domain/remove-device.ts";
import { updateDevice } from "../domain/update-device.ts";
import { listDevicesRpc } from "./list-devices.ts";
import { accountEventsRpcs } from "./not-available-yet.ts";
import { registerDeviceRpc } from "./register-device.ts";
import { removeDeviceRpc } from "./remove-device.ts";
import { updateDeviceRpc } from "./update-device.ts";

/** The RPCs of device.v1.Devices over these ports. */
export const devicesHandlers = (options: RegisterDeviceOptions): Handlers<DevicesService> => ({
  registerDevice: registerDeviceRpc(registerDevice(options)),
  listDevices: listDevicesRpc(listDevices(options)),
  updateDevice: updateDeviceRpc(updateDevice(options)),
  removeDevice: removeDeviceRpc(removeDevice(options)),
});

export const accountEventsHandlers: Handlers<AccountEventsService> = accountEventsRpcs;
