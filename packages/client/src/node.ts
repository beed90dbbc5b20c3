export { type DeviceKeyJwk, deviceKeyFromJwk, generateDeviceKey, type NodeDeviceKey } from "./node/device-key.ts";
