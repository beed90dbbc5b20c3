import {
  ConfigError,
  dialAddress,
  type Env,
  listenAddress,
  loadServiceEnv,
  readOnce,
  serviceEnv,
} from "@countersign/runtime";
import { chainNamesOf, watchNetworks, watchPasskeys } from "@countersign/settings";
import { z } from "zod";
import { watchAttestation } from "./clients/attestation/attestation-file.ts";
import { watchKeyring } from "./clients/keyring-file.ts";
import { watchProviders } from "./clients/providers-file.ts";

const limit = z.coerce.number().int().positive();
const seconds = z.coerce.number().int().nonnegative();

const schema = serviceEnv.extend({
  AUTH_DATABASE_URL: z.string(),
  AUTH_LISTEN: listenAddress,
  /** HTTPS with mutual TLS, for the published token keys. */
  AUTH_HTTP_LISTEN: listenAddress,
  AUTH_PROVIDERS_FILE: z.string(),
  /** The apps that attest themselves at sign-up and enrollment. */
  AUTH_ATTESTATION_FILE: z.string().optional(),
  /** A line of 32 bytes in hex for each key; the first one encrypts. */
  AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE: z.string(),
  AUTH_TOKEN_KEY_PERIOD_DAYS: z.coerce.number().min(2).default(30),
  /** false only in development. */
  AUTH_REQUIRE_LOGIN_TOKEN: z.enum(["true", "false"]).default("true"),
  /** Whether another administrator approves what gives access back or cannot be undone. */
  AUTH_ADMIN_TWO_PERSONS: z.enum(["true", "false"]).default("true"),
  /** Seconds for which a device waits that asks alone for a freeze to be lifted. */
  AUTH_TIME_LOCK_UNFREEZE_SECONDS: seconds.default(24 * 3_600),
  /** Seconds for which an account stays frozen before its recovery key alone may lift that. */
  AUTH_TIME_LOCK_RECOVERY_UNFREEZE_SECONDS: seconds.default(24 * 3_600),
  AUTH_LIMIT_SIGN_UP_PER_MINUTE: limit.default(10),
  AUTH_LIMIT_CHALLENGE_PER_MINUTE: limit.default(30),
  AUTH_LIMIT_TWO_FACTOR_PER_MINUTE: limit.default(30),
  /** Five answers for each challenge. */
  AUTH_LIMIT_RESPOND_PER_MINUTE: limit.default(150),
  /** Of one key, in each replica. */
  AUTH_LIMIT_SIGN_IN_PER_MINUTE: limit.default(5),
  /** Thousands of phones may share an address, and each refreshes four times an hour. */
  AUTH_LIMIT_REFRESH_PER_MINUTE: limit.default(600),
  /** How many times as many requests an IPv6 /48 may send as one of its /64s. */
  AUTH_LIMIT_IPV6_48_FACTOR: z.coerce.number().min(1).default(10),
  /** Multiplies the limits; for development. */
  AUTH_LIMIT_SCALE: z.coerce.number().positive().default(1),
  CS_DEVICE_ADDRESS: dialAddress,
  CS_KEY_ADDRESS: dialAddress,
  CS_ACCOUNT_ADDRESS: dialAddress,
  CS_NETWORKS_FILE: z.string(),
  CS_PASSKEYS_FILE: z.string().optional(),
});

/** Of one device or recovery key, in each replica. */
const UNFREEZES_PER_MINUTE = 10;

/** Returns auth's settings; secrets are separate. Errors: ConfigError. */
export function loadConfig(env: Env, files = readOnce) {
  const { settings, common } = loadServiceEnv("AUTH", schema, env, files);
  const isProduction = env.NODE_ENV === "production";
  const requireLoginToken = settings.AUTH_REQUIRE_LOGIN_TOKEN === "true";
  if (isProduction && !requireLoginToken)
    throw new ConfigError(["AUTH_REQUIRE_LOGIN_TOKEN: false is for development, never for production"]);
  const scaled = (points: number) => Math.max(1, Math.round(points * settings.AUTH_LIMIT_SCALE));
  const byAddress = (points: number) => ({
    perMinute: scaled(points),
    wideFactor: settings.AUTH_LIMIT_IPV6_48_FACTOR,
  });
  return {
    ...common,
    httpListen: settings.AUTH_HTTP_LISTEN,
    providers: watchProviders(files, settings.AUTH_PROVIDERS_FILE),
    attestation: watchAttestation(files, {
      path: settings.AUTH_ATTESTATION_FILE,
      providersPath: settings.AUTH_PROVIDERS_FILE,
      isProduction,
    }),
    tokenKeyPeriodMs: settings.AUTH_TOKEN_KEY_PERIOD_DAYS * 24 * 3_600_000,
    unfreezeTimeLocks: {
      deviceMs: settings.AUTH_TIME_LOCK_UNFREEZE_SECONDS * 1000,
      recoveryMs: settings.AUTH_TIME_LOCK_RECOVERY_UNFREEZE_SECONDS * 1000,
    },
    twoPersons: settings.AUTH_ADMIN_TWO_PERSONS === "true",
    requireLoginToken,
    limits: {
      signUp: byAddress(settings.AUTH_LIMIT_SIGN_UP_PER_MINUTE),
      challenge: byAddress(settings.AUTH_LIMIT_CHALLENGE_PER_MINUTE),
      twoFactor: byAddress(settings.AUTH_LIMIT_TWO_FACTOR_PER_MINUTE),
      respond: byAddress(settings.AUTH_LIMIT_RESPOND_PER_MINUTE),
      refresh: byAddress(settings.AUTH_LIMIT_REFRESH_PER_MINUTE),
      signInsPerMinute: scaled(settings.AUTH_LIMIT_SIGN_IN_PER_MINUTE),
      unfreezesPerMinute: scaled(UNFREEZES_PER_MINUTE),
    },
    addresses: {
      device: settings.CS_DEVICE_ADDRESS,
      key: settings.CS_KEY_ADDRESS,
      account: settings.CS_ACCOUNT_ADDRESS,
    },
    coalesceCalls: settings.CS_COALESCE_CALLS === "true",
    chains: chainNamesOf(watchNetworks(files, settings.CS_NETWORKS_FILE)),
    passkeys: watchPasskeys(files, settings.CS_PASSKEYS_FILE),
    secrets: {
      ...common.secrets,
      tokenKeyEncryptionKeys: watchKeyring(files, settings.AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE),
    },
  };
}

export type { Keyring } from "./clients/keyring-file.ts";
export type Config = ReturnType<typeof loadConfig>;
