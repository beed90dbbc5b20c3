import type { ReasonEntry } from "./reason-entry.ts";

export const DEVICES_AND_KEYS = {
  DeviceNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such device",
    cause: "The account has no such device, or it was removed.",
    remedy: "Read the list of devices again.",
  },
  DeviceConflict: {
    grpc: "ALREADY_EXISTS",
    http: 409,
    title: "The device key belongs to another registration",
    cause: "The device's identity key is registered for something else.",
    remedy: "Create a key for this installation and account alone.",
  },
  TooManyDevices: {
    grpc: "RESOURCE_EXHAUSTED",
    http: 409,
    title: "Device limit reached",
    cause: "The account has as many devices as it may have.",
    remedy: "Remove a device that is no longer used.",
  },
  TooManyKeys: {
    grpc: "RESOURCE_EXHAUSTED",
    http: 409,
    title: "User key limit reached",
    cause: "The account has as many user keys on chain as it may have.",
    remedy: "Revoke a key that is no longer used.",
  },
  PushTokenNotYours: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "Only the device itself may change its push token",
    cause: "A device tried to change the push token of another device.",
    remedy: "Send a push token from the session of its own device only.",
  },
  DeviceTooYoung: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "A young device cannot remove an older one",
    cause: "The device is less than a day old, and devices of that age cannot remove older ones.",
    remedy: "Use an older device, or wait until a day has passed.",
  },
  LastDevice: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "Nobody could sign in after this: add another device or a recovery key first",
    cause: "After this removal nobody could sign in to the account.",
    remedy: "Add another device or a recovery key first.",
  },
  KeyNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such key",
    cause: "The account has no such key, on chain or registered.",
    remedy: "Read the list of keys again.",
  },
  KeyAlreadyRegistered: {
    grpc: "ALREADY_EXISTS",
    http: 409,
    title: "The key is on the account already",
    cause:
      "The key is a key of the account already, perhaps of a device or for recovery on another network, or of another request.",
    remedy:
      "Sign in by challenge with this key instead. On another network, and where an earlier request of the device is open, send both of its keys, or two new ones.",
  },
} as const satisfies Record<string, ReasonEntry>;
