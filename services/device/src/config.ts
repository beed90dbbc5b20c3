import type { PasskeySettings } from "@countersign/keys";
import { dialAddress, type Env, listenAddress, loadEnv, sharedEnv } from "@countersign/runtime";
import { loadPasskeys } from "@countersign/settings";
import { z } from "zod";
import { type NotifyConfig, notifyConfig, notifyEnv } from "./notices/config.ts";

const positive = z.coerce.number().int().positive();

const schema = z.object({
  ...sharedEnv.shape,
  CS_NATS_URL: z.string(),
  CS_PASSKEYS_FILE: z.string().optional(),
  CS_AUTH_ADDRESS: dialAddress,
  CS_ACCOUNT_ADDRESS: dialAddress,
  CS_SIGNER_ADDRESS: dialAddress,
  AUTH_ISSUER: z.url(),
  DEVICE_DATABASE_URL: z.string(),
  DEVICE_LISTEN: listenAddress.default("127.0.0.1:5002"),
  DEVICE_MAX_DEVICES: positive.default(20),
  DEVICE_MAX_PENDING_TWO_FACTOR: positive.default(5),
  DEVICE_MAX_TWO_FACTOR_REJECTIONS: positive.default(3),
  // Multiplies limits, for load tests on the development stack.
  DEVICE_LIMIT_SCALE: positive.default(1),
  ...notifyEnv,
  // A database file in MaxMind's format; without it requests have no location.
  DEVICE_GEOIP_FILE: z.string().optional(),
});

export interface Config {
  listen: string;
  natsUrl: string;
  addresses: { auth: string; account: string; signer: string };
  peersFile: string;
  /** The relying parties whose passkeys' assertions are accepted. */
  passkeys: PasskeySettings;
  tls: { ca: string; cert: string; key: string };
  /** `iss` of the access tokens that are accepted. */
  issuer: string;
  /** The most live devices of one account. */
  maxDevices: number;
  /** Per account: the most pending two-factor requests, and the rejections within a day that close it. */
  twoFactorLimits: { pending: number; rejections: number };
  notify: NotifyConfig;
  geoIpFile: string | undefined;
  secrets: { databaseUrl: string };
}

/** Returns the device service's settings. Errors: ConfigError for wrong, missing and unknown ones. */
export function loadConfig(env: Env): Config {
  const settings = loadEnv(schema, env, { prefix: "DEVICE_" });
  return {
    listen: settings.DEVICE_LISTEN,
    natsUrl: settings.CS_NATS_URL,
    addresses: {
      auth: settings.CS_AUTH_ADDRESS,
      account: settings.CS_ACCOUNT_ADDRESS,
      signer: settings.CS_SIGNER_ADDRESS,
    },
    passkeys: loadPasskeys(settings.CS_PASSKEYS_FILE),
    peersFile: settings.CS_PEERS_FILE,
    tls: { ca: settings.CS_TLS_CA, cert: settings.CS_TLS_CERT, key: settings.CS_TLS_KEY },
    issuer: settings.AUTH_ISSUER,
    maxDevices: settings.DEVICE_MAX_DEVICES * settings.DEVICE_LIMIT_SCALE,
    twoFactorLimits: {
      pending: settings.DEVICE_MAX_PENDING_TWO_FACTOR * settings.DEVICE_LIMIT_SCALE,
      // Protects the account and not the service: the same in development.
      rejections: settings.DEVICE_MAX_TWO_FACTOR_REJECTIONS,
    },
    notify: notifyConfig(settings),
    geoIpFile: settings.DEVICE_GEOIP_FILE,
    secrets: { databaseUrl: settings.DEVICE_DATABASE_URL },
  };
}
