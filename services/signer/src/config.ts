import { dialAddress, type Env, listenAddress, loadServiceEnv, readOnce, serviceEnv } from "@countersign/runtime";
import { watchNetworks, watchPasskeys } from "@countersign/settings";
import { z } from "zod";

const seconds = z.coerce.number().int().nonnegative();
const positiveSeconds = z.coerce.number().int().positive();

const schema = serviceEnv.extend({
  SIGNER_DATABASE_URL: z.string(),
  SIGNER_LISTEN: listenAddress,
  SIGNER_KEYSTORE_FILE: z.string(),
  SIGNER_KEYSTORE_PASSPHRASE_FILE: z.string(),
  /** Keys in other vaults than the keystore; see docs/vaults.md. */
  SIGNER_VAULTS_FILE: z.string().min(1).optional(),
  /** See docs/policy.md; without it the default policy. */
  SIGNER_POLICY_FILE: z.string().min(1).optional(),
  /** Threads that read scripts. */
  SIGNER_PARSER_WORKERS: z.coerce.number().int().min(1).max(16).default(2),
  /** Milliseconds that reading one script may take. */
  SIGNER_PARSER_TIME_LIMIT_MS: z.coerce.number().int().min(50).max(10_000).default(1000),
  /** Checkpoints of the audit log are appended to it, by this process alone. */
  SIGNER_AUDIT_CHECKPOINT_FILE: z.string().optional(),
  /** Between the beginnings of two looks for something new to make a checkpoint of. */
  SIGNER_AUDIT_CHECKPOINT_MS: z.coerce.number().int().min(50).max(60_000).default(800),
  /** Records younger than so many days stay in the database; 0 is for tests. */
  SIGNER_AUDIT_ARCHIVE_MIN_DAYS: z.coerce.number().int().min(0).max(36_500).default(30),
  /** Whether another administrator approves what removes audit records. */
  SIGNER_ADMIN_TWO_PERSONS: z.enum(["true", "false"]).default("true"),
  /** Seconds that a change of the recovery key waits, and the account's age below which it does not wait. */
  SIGNER_TIME_LOCK_RECOVERY_KEY_SECONDS: seconds.default(72 * 3_600),
  SIGNER_TIME_LOCK_YOUNG_ACCOUNT_SECONDS: seconds.default(24 * 3_600),
  /** Seconds that the enrollment of a device by a recovery key waits. */
  SIGNER_TIME_LOCK_RECOVERED_DEVICE_SECONDS: seconds.default(24 * 3_600),
  /** Seconds that a device's key must be on the account before it revokes another one without a time lock. */
  SIGNER_TIME_LOCK_YOUNG_DEVICE_SECONDS: seconds.default(24 * 3_600),
  /** Seconds, from the first request on, for which devices may cancel an enrollment by a recovery key. */
  SIGNER_TIME_LOCK_CONTEST_SECONDS: positiveSeconds.default(30 * 24 * 3_600),
  /** Seconds for which what has waited is signed. */
  SIGNER_TIME_LOCK_GOOD_FOR_SECONDS: positiveSeconds.default(24 * 3_600),
  /** Seconds that the login behind a change of the recovery key may be old. */
  SIGNER_LOGIN_MAX_AGE_SECONDS: z.coerce.number().int().positive().default(300),
  SIGNER_LIMIT_SIGNATURES_PER_MINUTE: z.coerce.number().int().positive().default(120),
  /** Multiplies the limit; for development. */
  SIGNER_LIMIT_SCALE: z.coerce.number().positive().default(1),
  CS_AUTH_ADDRESS: dialAddress,
  CS_NETWORKS_FILE: z.string(),
  CS_PASSKEYS_FILE: z.string().optional(),
});

/** Returns the signer's settings; the secrets' files are separate. Errors: ConfigError. */
export function loadConfig(env: Env, files = readOnce) {
  const { settings, common } = loadServiceEnv("SIGNER", schema, env, files);
  return {
    ...common,
    keystoreFile: settings.SIGNER_KEYSTORE_FILE,
    vaultsFile: settings.SIGNER_VAULTS_FILE,
    checkpointFile: settings.SIGNER_AUDIT_CHECKPOINT_FILE,
    checkpointMs: settings.SIGNER_AUDIT_CHECKPOINT_MS,
    archiveMinDays: settings.SIGNER_AUDIT_ARCHIVE_MIN_DAYS,
    twoPersons: settings.SIGNER_ADMIN_TWO_PERSONS === "true",
    signaturesPerMinute: Math.round(settings.SIGNER_LIMIT_SIGNATURES_PER_MINUTE * settings.SIGNER_LIMIT_SCALE),
    timeLockPolicy: {
      recoveryKeyMs: settings.SIGNER_TIME_LOCK_RECOVERY_KEY_SECONDS * 1000,
      youngAccountMs: settings.SIGNER_TIME_LOCK_YOUNG_ACCOUNT_SECONDS * 1000,
      recoveredDeviceMs: settings.SIGNER_TIME_LOCK_RECOVERED_DEVICE_SECONDS * 1000,
      youngDeviceMs: settings.SIGNER_TIME_LOCK_YOUNG_DEVICE_SECONDS * 1000,
      contestMs: settings.SIGNER_TIME_LOCK_CONTEST_SECONDS * 1000,
      goodForMs: settings.SIGNER_TIME_LOCK_GOOD_FOR_SECONDS * 1000,
      loginMaxAgeMs: settings.SIGNER_LOGIN_MAX_AGE_SECONDS * 1000,
    },
    policyFile: settings.SIGNER_POLICY_FILE,
    parser: { workers: settings.SIGNER_PARSER_WORKERS, timeLimitMs: settings.SIGNER_PARSER_TIME_LIMIT_MS },
    addresses: { auth: settings.CS_AUTH_ADDRESS },
    coalesceCalls: settings.CS_COALESCE_CALLS === "true",
    passkeys: watchPasskeys(files, settings.CS_PASSKEYS_FILE),
    networks: watchNetworks(files, settings.CS_NETWORKS_FILE),
    secrets: { ...common.secrets, keystorePassphraseFile: settings.SIGNER_KEYSTORE_PASSPHRASE_FILE },
  };
}
