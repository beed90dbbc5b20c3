import type { DeviceAttributes } from "@countersign/core";

/** Attributes of a device, where a test depends on none of them. */
export const sampleDevice: DeviceAttributes = {
  pushToken: "",
  name: "",
  osName: "",
  osVersion: "",
  deviceManufacturer: "",
  deviceModel: "",
  lang: "",
  type: "mobile",
  sdkVersion: "",
};
