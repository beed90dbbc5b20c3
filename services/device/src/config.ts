import { dialAddress, type Env, listenAddress, loadServiceEnv, readOnce, serviceEnv } from "@countersign/runtime";
import { watchPasskeys } from "@countersign/settings";
import { z } from "zod";
import { notifyEnv, watchNotifyConfig } from "./notices/config.ts";
import { watchWebhooks } from "./webhooks/config.ts";

const network = z.union([z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()]);
const networks = z
  .string()
  .transform((text) => text.split(",").map((each) => each.trim()))
  .refine((list) => list.every((each) => network.safeParse(each).success), "must be networks such as 10.1.0.0/16");
const positive = z.coerce.number().int().positive();

const schema = serviceEnv.extend({
  CS_PASSKEYS_FILE: z.string().optional(),
  CS_AUTH_ADDRESS: dialAddress,
  CS_ACCOUNT_ADDRESS: dialAddress,
  CS_SIGNER_ADDRESS: dialAddress,
  DEVICE_DATABASE_URL: z.string(),
  DEVICE_LISTEN: listenAddress.default("127.0.0.1:5002"),
  /** The most live devices of one account. */
  DEVICE_MAX_DEVICES: positive.default(20),
  /** Per account: the most pending two-factor requests, and the rejections within a day that close it. */
  DEVICE_MAX_PENDING_TWO_FACTOR: positive.default(5),
  DEVICE_MAX_TWO_FACTOR_REJECTIONS: positive.default(3),
  // Multiplies limits, for load tests on the development stack.
  DEVICE_LIMIT_SCALE: positive.default(1),
  ...notifyEnv,
  // A database file in MaxMind's format; without it requests have no location.
  DEVICE_GEOIP_FILE: z.string().optional(),
  /** JSON with the endpoints of apps; without it there are no webhooks. */
  DEVICE_WEBHOOKS_FILE: z.string().optional(),
  /** Networks with private addresses that webhooks may be sent to, separated by commas. */
  DEVICE_WEBHOOKS_ALLOWED_NETWORKS: networks.default([]),
});

/** Returns the device service's settings. Errors: ConfigError for wrong, missing and unknown ones. */
export function loadConfig(env: Env, files = readOnce) {
  const { settings, common } = loadServiceEnv("DEVICE", schema, env, files);
  return {
    ...common,
    addresses: {
      auth: settings.CS_AUTH_ADDRESS,
      account: settings.CS_ACCOUNT_ADDRESS,
      signer: settings.CS_SIGNER_ADDRESS,
    },
    // The relying parties whose passkeys' assertions are accepted.
    passkeys: watchPasskeys(files, settings.CS_PASSKEYS_FILE),
    maxDevices: settings.DEVICE_MAX_DEVICES * settings.DEVICE_LIMIT_SCALE,
    noticesPerDay: 20 * settings.DEVICE_LIMIT_SCALE,
    updatesPerMinute: 30 * settings.DEVICE_LIMIT_SCALE,
    chainReadsPerMinute: 120 * settings.DEVICE_LIMIT_SCALE,
    twoFactorLimits: {
      pending: settings.DEVICE_MAX_PENDING_TWO_FACTOR * settings.DEVICE_LIMIT_SCALE,
      // Protects the account and not the service: the same in development.
      rejections: settings.DEVICE_MAX_TWO_FACTOR_REJECTIONS,
    },
    notify: watchNotifyConfig(files, settings),
    geoIpFile: settings.DEVICE_GEOIP_FILE,
    webhooks: {
      endpoints: watchWebhooks(files, settings.DEVICE_WEBHOOKS_FILE),
      allowedNetworks: settings.DEVICE_WEBHOOKS_ALLOWED_NETWORKS,
    },
  };
}
