/** Attributes of a device, where a test depends on none of them. */
export const sampleDevice = {
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
