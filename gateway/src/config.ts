import { isWebViewOrigin } from "@countersign/keys";
import { dialAddress, type Env, listenAddress, loadEnv, readOnce, sharedEnv } from "@countersign/runtime";
import { z } from "zod";
import { watchChainNodes } from "./chain-nodes/chain-nodes-file.ts";

/** A comma-separated list; absent is empty. */
const list = z
  .string()
  .default("")
  .transform((value) =>
    value
      .split(",")
      .map((entry) => entry.trim())
      .filter(Boolean),
  );

const origins = list.refine(
  (entries) =>
    entries.every((entry) => isWebViewOrigin(entry) || (URL.canParse(entry) && new URL(entry).origin === entry)),
  "must be origins such as https://app.example.com or capacitor://localhost, separated by commas",
);

const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const proxies = list.refine(
  (entries) => entries.every((entry) => network.safeParse(entry).success),
  "must be IP addresses or networks such as 10.0.0.0/8, separated by commas",
);

const schema = z.object({
  ...sharedEnv.shape,
  GATEWAY_LISTEN: listenAddress.default("127.0.0.1:8080"),
  GATEWAY_ALLOWED_ORIGINS: origins,
  GATEWAY_TRUSTED_PROXIES: proxies,
  /** The URL of docs/errors.md where it is served: then the `type` of a problem leads to its entry. */
  GATEWAY_ERROR_PAGE_URL: z.url({ protocol: /^https?$/ }).optional(),
  // Less than the idle timeouts of proxies and phones.
  /** Milliseconds without an event until a comment is sent on an event stream. */
  GATEWAY_EVENTS_HEARTBEAT_MS: z.coerce.number().int().min(1_000).max(60_000).default(15_000),
  CS_AUTH_ADDRESS: dialAddress.default("127.0.0.1:5001"),
  CS_DEVICE_ADDRESS: dialAddress.default("127.0.0.1:5002"),
  CS_KEY_ADDRESS: dialAddress.default("127.0.0.1:5003"),
  CS_ACCOUNT_ADDRESS: dialAddress.default("127.0.0.1:5004"),
  CS_SIGNER_ADDRESS: dialAddress.default("127.0.0.1:5005"),
  /** Auth's HTTPS listener for its public keys. */
  CS_AUTH_HTTP_ADDRESS: listenAddress.default("127.0.0.1:5101"),
  /** JSON with the chain nodes that requests are passed on to; absent: none. */
  GATEWAY_CHAIN_NODES_FILE: z.string().optional(),
  /** Requests of one device to chain nodes in a minute of one process. */
  GATEWAY_CHAIN_REQUESTS_PER_MINUTE: z.coerce.number().int().min(1).default(600),
  AUTH_ISSUER: z.string().min(1),
  AUTH_REQUIRE_LOGIN_TOKEN: z.enum(["true", "false"]).default("true"),
});

/** Reads the settings. Errors: ConfigError with all problems. */
export function loadConfig(env: Env, files = readOnce) {
  const settings = loadEnv(schema, env, { prefix: "GATEWAY_" });
  return {
    listen: settings.GATEWAY_LISTEN,
    tls: { ca: settings.CS_TLS_CA, cert: settings.CS_TLS_CERT, key: settings.CS_TLS_KEY },
    addresses: {
      auth: settings.CS_AUTH_ADDRESS,
      device: settings.CS_DEVICE_ADDRESS,
      key: settings.CS_KEY_ADDRESS,
      account: settings.CS_ACCOUNT_ADDRESS,
      signer: settings.CS_SIGNER_ADDRESS,
    },
    authHttpAddress: settings.CS_AUTH_HTTP_ADDRESS,
    issuer: settings.AUTH_ISSUER,
    allowedOrigins: settings.GATEWAY_ALLOWED_ORIGINS,
    trustedProxies: settings.GATEWAY_TRUSTED_PROXIES,
    errorPage: settings.GATEWAY_ERROR_PAGE_URL,
    chainNodes: watchChainNodes(files, settings.GATEWAY_CHAIN_NODES_FILE),
    chainRequestsPerMinute: settings.GATEWAY_CHAIN_REQUESTS_PER_MINUTE,
    eventsHeartbeatMs: settings.GATEWAY_EVENTS_HEARTBEAT_MS,
    coalesceCalls: settings.CS_COALESCE_CALLS === "true",
    requireLoginToken: settings.AUTH_REQUIRE_LOGIN_TOKEN === "true",
  };
}

export type GatewayConfig = ReturnType<typeof loadConfig>;
