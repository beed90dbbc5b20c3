import type * as http from "@countersign/http-api/resources.ts";
import type { App, Device } from "@countersign/proto/common/v1/types.ts";
import { toTimestamp } from "../../http/fields.ts";
import { toPublicKey } from "./public-key.ts";

/** Throws where the service sent no device, or one without its key. */
export function toDevice(device: Device | undefined): http.Device {
  const attributes = device?.attributes;
  return {
    id: device?.id ?? "",
    ...toPublicKey(device?.publicKey),
    sdkVersion: attributes?.sdkVersion ?? "",
    pushToken: attributes?.pushToken ?? "",
    name: attributes?.name ?? "",
    osName: attributes?.osName ?? "",
    osVersion: attributes?.osVersion ?? "",
    deviceManufacturer: attributes?.deviceManufacturer ?? "",
    deviceModel: attributes?.deviceModel ?? "",
    lang: attributes?.lang ?? "",
    type: (attributes?.type ?? "") as http.Device["type"],
    createdAt: toTimestamp(device?.createdAt),
    lastUsedAt: toTimestamp(device?.lastUsedAt),
  };
}

export function toApp(app: App | undefined): http.App {
  return { appId: app?.appId ?? "", appName: app?.appName ?? "" };
}
