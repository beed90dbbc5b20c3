import type { App, Device } from "@countersign/proto/common/v1/types.ts";
import { z } from "zod";
import { toHex, toTimestamp } from "../../http/validation.ts";
import { toAlgorithm } from "./public-key.ts";

export const deviceSchema = z.object({
  id: z.string(),
  publicKey: z.string(),
  algorithm: z.string(),
  sdkVersion: z.string(),
  pushToken: z.string(),
  name: z.string(),
  osName: z.string(),
  osVersion: z.string(),
  deviceManufacturer: z.string(),
  deviceModel: z.string(),
  lang: z.string(),
  type: z.string(),
  createdAt: z.string(),
  lastUsedAt: z.string(),
});

export const appSchema = z.object({ appId: z.string(), appName: z.string() });

/** A device as clients see it. */
export function toDevice(device: Device | undefined): z.infer<typeof deviceSchema> {
  const attributes = device?.attributes;
  return {
    id: device?.id ?? "",
    publicKey: toHex(device?.publicKey?.bytes),
    algorithm: toAlgorithm(device?.publicKey),
    sdkVersion: attributes?.sdkVersion ?? "",
    pushToken: attributes?.pushToken ?? "",
    name: attributes?.name ?? "",
    osName: attributes?.osName ?? "",
    osVersion: attributes?.osVersion ?? "",
    deviceManufacturer: attributes?.deviceManufacturer ?? "",
    deviceModel: attributes?.deviceModel ?? "",
    lang: attributes?.lang ?? "",
    type: attributes?.type ?? "",
    createdAt: toTimestamp(device?.createdAt),
    lastUsedAt: toTimestamp(device?.lastUsedAt),
  };
}

/** An app as clients see it. */
export function toApp(app: App | undefined): z.infer<typeof appSchema> {
  return { appId: app?.appId ?? "", appName: app?.appName ?? "" };
}
