import { dialAddress, type Env, listenAddress, loadServiceEnv, readOnce, serviceEnv } from "@countersign/runtime";
import { z } from "zod";

const positive = z.coerce.number().int().positive();

const schema = serviceEnv.extend({
  CS_AUTH_ADDRESS: dialAddress,
  CS_ACCOUNT_ADDRESS: dialAddress,
  CS_DEVICE_ADDRESS: dialAddress,
  KEY_DATABASE_URL: z.string(),
  KEY_LISTEN: listenAddress.default("127.0.0.1:5003"),
  /** The most active user keys of one account. */
  KEY_MAX_USER_KEYS: positive.default(20),
  // After this time on chain without a registration, a key is reported as discovered.
  KEY_ALERT_AFTER_MS: positive.default(60_000),
  // Multiplies limits: the development stack lets load programs through.
  KEY_LIMIT_SCALE: positive.default(1),
});

/** Returns the key service's settings. Errors: ConfigError for wrong, missing and unknown ones. */
export function loadConfig(env: Env, files = readOnce) {
  const { settings, common } = loadServiceEnv("KEY", schema, env, files);
  return {
    ...common,
    addresses: {
      auth: settings.CS_AUTH_ADDRESS,
      account: settings.CS_ACCOUNT_ADDRESS,
      device: settings.CS_DEVICE_ADDRESS,
    },
    maxUserKeys: settings.KEY_MAX_USER_KEYS * settings.KEY_LIMIT_SCALE,
    alertAfterMs: settings.KEY_ALERT_AFTER_MS,
    reportsPerMinute: 120 * settings.KEY_LIMIT_SCALE,
  };
}
