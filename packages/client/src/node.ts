export { type AuthorizationCode, exchangeCode, loginAtDevelopmentProvider } from "./node/development-login.ts";
export { type DeviceKeyJwk, deviceKeyFromJwk, generateDeviceKey, type NodeDeviceKey } from "./node/device-key.ts";
