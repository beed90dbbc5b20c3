import { dialAddress, type Env, listenAddress, loadEnv, sharedEnv } from "@countersign/service-kit";
import { z } from "zod";

const positive = z.coerce.number().int().positive();

const schema = z.object({
  ...sharedEnv.shape,
  CS_NATS_URL: z.string(),
  CS_AUTH_ADDRESS: dialAddress,
  AUTH_ISSUER: z.url(),
  DEVICE_DATABASE_URL: z.string(),
  DEVICE_LISTEN: listenAddress.default("127.0.0.1:5002"),
  DEVICE_MAX_DEVICES: positive.default(20),
  // Multiplies limits: the development stack lets load programs through.
  DEVICE_LIMIT_SCALE: positive.default(1),
});

export interface Config {
  listen: string;
  natsUrl: string;
  authAddress: string;
  peersFile: string;
  tls: { ca: string; cert: string; key: string };
  /** `iss` of the access tokens that are believed. */
  tokenIssuer: string;
  /** The most live devices of one account. */
  maxDevices: number;
  secrets: { databaseUrl: string };
}

/** The device service's settings. Errors: ConfigError for wrong, missing and unknown ones. */
export function loadConfig(env: Env): Config {
  const settings = loadEnv(schema, env, { prefix: "DEVICE_" });
  return {
    listen: settings.DEVICE_LISTEN,
    natsUrl: settings.CS_NATS_URL,
    authAddress: settings.CS_AUTH_ADDRESS,
    peersFile: settings.CS_PEERS_FILE,
    tls: { ca: settings.CS_TLS_CA, cert: settings.CS_TLS_CERT, key: settings.CS_TLS_KEY },
    tokenIssuer: settings.AUTH_ISSUER,
    maxDevices: settings.DEVICE_MAX_DEVICES * settings.DEVICE_LIMIT_SCALE,
    secrets: { databaseUrl: settings.DEVICE_DATABASE_URL },
  };
}
