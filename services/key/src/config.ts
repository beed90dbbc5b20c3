import { dialAddress, type Env, listenAddress, loadEnv, sharedEnv } from "@countersign/runtime";
import { z } from "zod";

const positive = z.coerce.number().int().positive();

const schema = z.object({
  ...sharedEnv.shape,
  CS_NATS_URL: z.string(),
  CS_AUTH_ADDRESS: dialAddress,
  CS_ACCOUNT_ADDRESS: dialAddress,
  CS_DEVICE_ADDRESS: dialAddress,
  AUTH_ISSUER: z.url(),
  KEY_DATABASE_URL: z.string(),
  KEY_LISTEN: listenAddress.default("127.0.0.1:5003"),
  KEY_MAX_USER_KEYS: positive.default(20),
  // After this time on chain without a registration, a key is reported as discovered.
  KEY_ALERT_AFTER_MS: positive.default(60_000),
  // Multiplies limits: the development stack lets load programs through.
  KEY_LIMIT_SCALE: positive.default(1),
});

export interface Config {
  listen: string;
  natsUrl: string;
  addresses: { auth: string; account: string; device: string };
  peersFile: string;
  tls: { ca: string; cert: string; key: string };
  /** `iss` of the access tokens that are accepted. */
  issuer: string;
  /** The most active user keys of one account. */
  maxUserKeys: number;
  /** Milliseconds. */
  alertAfterMs: number;
  secrets: { databaseUrl: string };
}

/** Returns the key service's settings. Errors: ConfigError for wrong, missing and unknown ones. */
export function loadConfig(env: Env): Config {
  const settings = loadEnv(schema, env, { prefix: "KEY_" });
  return {
    listen: settings.KEY_LISTEN,
    natsUrl: settings.CS_NATS_URL,
    addresses: {
      auth: settings.CS_AUTH_ADDRESS,
      account: settings.CS_ACCOUNT_ADDRESS,
      device: settings.CS_DEVICE_ADDRESS,
    },
    peersFile: settings.CS_PEERS_FILE,
    tls: { ca: settings.CS_TLS_CA, cert: settings.CS_TLS_CERT, key: settings.CS_TLS_KEY },
    issuer: settings.AUTH_ISSUER,
    maxUserKeys: settings.KEY_MAX_USER_KEYS * settings.KEY_LIMIT_SCALE,
    alertAfterMs: settings.KEY_ALERT_AFTER_MS,
    secrets: { databaseUrl: settings.KEY_DATABASE_URL },
  };
}
