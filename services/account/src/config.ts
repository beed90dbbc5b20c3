import { dialAddress, type Env, listenAddress, loadServiceEnv, readOnce, serviceEnv } from "@countersign/runtime";
import { watchNetworks, watchPasskeys } from "@countersign/settings";
import { z } from "zod";
import { ALERT_ACTIONS } from "./domain/chain-watch/account-event.ts";

const action = z.enum(ALERT_ACTIONS).default("freeze");

const schema = serviceEnv.extend({
  ACCOUNT_DATABASE_URL: z.string(),
  ACCOUNT_LISTEN: listenAddress,
  /** Creations of one chain under way at once, per replica. */
  ACCOUNT_PARALLEL_CREATIONS: z.coerce.number().int().positive().default(2),
  /** Milliseconds that a first deployment waits for others, to share one transaction with them. */
  ACCOUNT_COLLECT_MS: z.coerce.number().int().nonnegative().default(10),
  /**
   * Time until a creation that the signer refuses for now is requested again, and up to as much again, so
   * that requests waiting for a budget window or the operator do not come together. Milliseconds.
   */
  ACCOUNT_REFUSED_RETRY_MS: z.coerce.number().int().positive().default(15_000),
  /**
   * The most active user keys of an account, as KEY_MAX_USER_KEYS: counted on chain before another one is
   * requested.
   */
  ACCOUNT_MAX_USER_KEYS: z.coerce.number().int().positive().default(20),
  /** Messages that one device may ask for in a minute, per replica: each costs the access node two reads. */
  ACCOUNT_LIMIT_MESSAGES_PER_MINUTE: z.coerce.number().int().positive().default(30),
  // Multiplies limits: the development stack lets load programs through.
  ACCOUNT_LIMIT_SCALE: z.coerce.number().int().positive().default(1),
  /** Milliseconds between looks for key events on a chain. */
  ACCOUNT_KEY_WATCH_MS: z.coerce.number().int().positive().default(500),
  /** Milliseconds between looks for transactions that the signer's budgets wait for. */
  ACCOUNT_SETTLEMENT_MS: z.coerce.number().int().positive().default(1000),
  /**
   * The action for an event of an account that no transaction of ours caused, by kind: freeze, alert or off.
   * See docs/chain-watch.md.
   */
  ACCOUNT_WATCH_KEYS: action,
  ACCOUNT_WATCH_CONTRACTS: action,
  ACCOUNT_WATCH_CAPABILITIES: action,
  ACCOUNT_WATCH_INBOX: action,
  CS_AUTH_ADDRESS: dialAddress,
  CS_SIGNER_ADDRESS: dialAddress,
  CS_NETWORKS_FILE: z.string(),
  CS_PASSKEYS_FILE: z.string().optional(),
});

/** Returns the account service's settings. Errors: ConfigError. */
export function loadConfig(env: Env, files = readOnce) {
  const { settings, common } = loadServiceEnv("ACCOUNT", schema, env, files);
  return {
    ...common,
    parallelCreations: settings.ACCOUNT_PARALLEL_CREATIONS,
    collectMs: settings.ACCOUNT_COLLECT_MS,
    coalesceCalls: settings.CS_COALESCE_CALLS === "true",
    refusedRetryMs: settings.ACCOUNT_REFUSED_RETRY_MS,
    maxUserKeys: settings.ACCOUNT_MAX_USER_KEYS * settings.ACCOUNT_LIMIT_SCALE,
    messagesPerMinute: settings.ACCOUNT_LIMIT_MESSAGES_PER_MINUTE * settings.ACCOUNT_LIMIT_SCALE,
    keyWatchMs: settings.ACCOUNT_KEY_WATCH_MS,
    settlementMs: settings.ACCOUNT_SETTLEMENT_MS,
    alertActions: {
      keys: settings.ACCOUNT_WATCH_KEYS,
      contracts: settings.ACCOUNT_WATCH_CONTRACTS,
      "account-capabilities": settings.ACCOUNT_WATCH_CAPABILITIES,
      inbox: settings.ACCOUNT_WATCH_INBOX,
    },
    addresses: { auth: settings.CS_AUTH_ADDRESS, signer: settings.CS_SIGNER_ADDRESS },
    networks: watchNetworks(files, settings.CS_NETWORKS_FILE),
    passkeys: watchPasskeys(files, settings.CS_PASSKEYS_FILE),
  };
}

export type Config = ReturnType<typeof loadConfig>;
