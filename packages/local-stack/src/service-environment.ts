import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { compileCacheDir, root, type ServiceName, services } from "@countersign/build/paths.ts";
import { HEAP_OPTIONS } from "@countersign/runtime/node-flags.ts";
import { tlsFiles } from "./certificates.ts";
import { chainNodesOf, readNetworks, writeNetworks } from "./networks.ts";
import { writePrivate } from "./secrets.ts";
import type { Ports } from "./settings.ts";

export type ProgramName = ServiceName | "gateway";

export interface EnvironmentInput {
  stateDir: string;
  /** The ports of each replica, the first one's first. */
  replicas: readonly Ports[];
  gateway: string;
  /** Origins of the stack's own pages, which may call the gateway. */
  allowedOrigins?: readonly string[];
  natsUrl: string;
  networksFile: string;
  databaseUrl(service: ServiceName): string;
  /** Whether services read it from a file, which may change: `databaseUrlFile`. */
  databaseUrlFiles?: boolean | undefined;
  /** The address at which `caller` reaches `address` (host:port): a test may put a proxy between them. */
  addressOf?: AddressOf | undefined;
  /** Further variables of a process. */
  extraEnvironment?: ((process: string) => Record<string, string>) | undefined;
}

/** Both names are those of stack.json's processes; auth's public keys are "auth-http". */
export type AddressOf = (caller: string, callee: string, address: string) => string | Promise<string>;

/** Returns the process name of a replica: "auth", "auth-2", … */
export const processName = (name: ProgramName, replica: number): string =>
  replica === 0 ? name : `${name}-${replica + 1}`;

/** Files that services read and the launcher makes. */
export function stateFiles(stateDir: string) {
  return {
    networks: join(stateDir, "networks.json"),
    providers: join(stateDir, "auth-providers.json"),
    attestation: join(stateDir, "attestation.json"),
    passkeys: join(stateDir, "passkeys.json"),
    webhooks: join(stateDir, "webhooks.json"),
    serverAppSecret: join(stateDir, "keys", "server-app.secret"),
    tokenKeyEncryptionKey: join(stateDir, "keys", "auth-token-key-encryption.key"),
    flowServiceKey: join(stateDir, "keys", "flow-service.key"),
    keystore: join(stateDir, "keys", "signer-keystore.json"),
    keystorePassphrase: join(stateDir, "keys", "signer-keystore.passphrase"),
  };
}

/** Returns a developer's own policy file; the default policy where there is none. */
function ownPolicy(): Record<string, string> {
  const file = process.env.SIGNER_POLICY_FILE;
  return file ? { SIGNER_POLICY_FILE: resolve(file) } : {};
}

/** Returns the stack's own origins and those of the developer's environment. */
function allowedOrigins(own: readonly string[] = []): Record<string, string> {
  const origins = [...own, process.env.GATEWAY_ALLOWED_ORIGINS].filter(Boolean);
  return origins.length > 0 ? { GATEWAY_ALLOWED_ORIGINS: origins.join(",") } : {};
}

/** Returns the settings of one process only. */
function ownSettings(name: ProgramName, process: string, stateDir: string, ports: Ports): Record<string, string> {
  const files = stateFiles(stateDir);
  if (name === "auth") {
    return {
      AUTH_PROVIDERS_FILE: files.providers,
      AUTH_ATTESTATION_FILE: files.attestation,
      AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE: files.tokenKeyEncryptionKey,
      AUTH_HTTP_LISTEN: `127.0.0.1:${ports.authHttp}`,
      AUTH_REQUIRE_LOGIN_TOKEN: "true",
      AUTH_TIME_LOCK_UNFREEZE_SECONDS: "5",
      AUTH_TIME_LOCK_RECOVERY_UNFREEZE_SECONDS: "5",
    };
  }
  if (name === "gateway") return { AUTH_REQUIRE_LOGIN_TOKEN: "true" };
  // Nothing leaves this machine: pushes and mails are lines in the log, webhooks go where a developer says.
  if (name === "device") {
    const webhooks = { DEVICE_WEBHOOKS_FILE: files.webhooks, DEVICE_WEBHOOKS_ALLOWED_NETWORKS: "127.0.0.0/8,::1" };
    return { DEVICE_PUSH: "log", DEVICE_MAIL: "log", ...webhooks };
  }
  if (name === "key") return { KEY_ALERT_AFTER_MS: "3000" };
  if (name === "signer") {
    return {
      SIGNER_KEYSTORE_FILE: files.keystore,
      SIGNER_KEYSTORE_PASSPHRASE_FILE: files.keystorePassphrase,
      ...ownPolicy(),
      SIGNER_AUDIT_CHECKPOINT_FILE: join(stateDir, "audit", `${process}.checkpoints`),
      // Records can be archived at once, and time locks do not take days.
      SIGNER_AUDIT_ARCHIVE_MIN_DAYS: "0",
      SIGNER_TIME_LOCK_RECOVERY_KEY_SECONDS: "5",
      SIGNER_TIME_LOCK_YOUNG_ACCOUNT_SECONDS: "15",
      SIGNER_TIME_LOCK_RECOVERED_DEVICE_SECONDS: "5",
      SIGNER_TIME_LOCK_YOUNG_DEVICE_SECONDS: "15",
    };
  }
  return {};
}

/** Returns the part of our own environment that every child needs; nothing else leaks into a service. */
export function baseEnvironment(): NodeJS.ProcessEnv {
  const passed = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "CS_LOG_LEVEL", "CS_TRACE", "NODE_OPTIONS"];
  const ours = Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  // Each further arena of malloc keeps memory that the others could use; without a fixed threshold the first
  // one keeps the memory that the start needed once.
  return { ...ours, NODE_COMPILE_CACHE: compileCacheDir, MALLOC_ARENA_MAX: "2", MALLOC_TRIM_THRESHOLD_: "4194304" };
}

// The developer's own options come last, and win.
const nodeOptions = (): string => [...HEAP_OPTIONS, process.env.NODE_OPTIONS].filter(Boolean).join(" ");

/**
 * Returns networks.json with the access nodes as this process reaches them; the common file where nothing
 * differs.
 */
async function networksFileFor(process: string, input: EnvironmentInput): Promise<string> {
  const { addressOf, networksFile, stateDir } = input;
  if (!addressOf) return networksFile;
  const routed = await Promise.all(
    readNetworks(networksFile).map(async (network) => {
      const node = new URL(network.accessNode);
      return { ...network, accessNode: `${node.protocol}//${await addressOf(process, "flow-emulator", node.host)}` };
    }),
  );
  const file = join(stateDir, `networks-${process}.json`);
  writeNetworks(file, routed);
  return file;
}

/** Writes the chain nodes that a gateway passes requests on to, from the networks file. Returns the file. */
function chainNodesFile(process: string, networksFile: string, stateDir: string): string {
  const file = join(stateDir, `chain-nodes-${process}.json`);
  writeFileSync(file, chainNodesOf(networksFile));
  return file;
}

/** Returns the file with a service's connection string, where a stack has such files. */
export const databaseUrlFile = (stateDir: string, service: ServiceName): string =>
  join(stateDir, "keys", `${service}-database-url`);

function databaseSetting(
  service: ServiceName,
  url: string,
  { databaseUrlFiles, stateDir }: EnvironmentInput,
): Record<string, string> {
  const variable = `${service.toUpperCase()}_DATABASE_URL`;
  if (!databaseUrlFiles) return { [variable]: url };
  const file = databaseUrlFile(stateDir, service);
  // A process that starts again finds the file as it is now.
  if (!existsSync(file)) writePrivate(file, url);
  return { [`${variable}_FILE`]: file };
}

/** Returns the whole environment of a process: the same settings as in the cluster, with local values. */
export async function serviceEnvironment(
  name: ProgramName,
  replica: number,
  input: EnvironmentInput,
): Promise<NodeJS.ProcessEnv> {
  const { stateDir, replicas } = input;
  const process = processName(name, replica);
  const ports = replicas[replica] as Ports;
  const prefix = name.toUpperCase();
  const tls = tlsFiles(stateDir, name);
  const route = async (callee: string, address: string) =>
    input.addressOf ? await input.addressOf(process, callee, address) : address;
  const routeUrl = async (callee: string, url: string) => {
    const { host } = new URL(url);
    return url.replace(host, await route(callee, host));
  };
  const peers: Record<string, string> = {};
  for (const service of services) {
    const addresses = replicas.map((own, index) => route(processName(service, index), `127.0.0.1:${own[service]}`));
    peers[`CS_${service.toUpperCase()}_ADDRESS`] = (await Promise.all(addresses)).join(",");
  }
  const networksFile = await networksFileFor(process, input);
  return {
    ...baseEnvironment(),
    NODE_OPTIONS: nodeOptions(),
    ...peers,
    [`${prefix}_LISTEN`]: `127.0.0.1:${ports[name]}`,
    [`${prefix}_ADMIN_LISTEN`]: `127.0.0.1:${ports[`${name}Admin`]}`,
    ...(name === "gateway"
      ? {
          ...allowedOrigins(input.allowedOrigins),
          GATEWAY_CHAIN_NODES_FILE: chainNodesFile(process, networksFile, stateDir),
        }
      : {
          // Tests and demos do in seconds what a person does in a day.
          [`${prefix}_LIMIT_SCALE`]: "100",
          ...databaseSetting(name, await routeUrl("postgres", input.databaseUrl(name)), input),
        }),
    AUTH_ISSUER: input.gateway,
    // One address only: a gateway's page of public keys bears auth's first replica being away.
    CS_AUTH_HTTP_ADDRESS: await route("auth-http", `127.0.0.1:${(replicas[0] as Ports).authHttp}`),
    CS_NATS_URL: await routeUrl("nats", input.natsUrl),
    CS_TLS_CA: tls.ca,
    CS_TLS_CERT: tls.cert,
    CS_TLS_KEY: tls.key,
    CS_NETWORKS_FILE: networksFile,
    CS_PASSKEYS_FILE: stateFiles(stateDir).passkeys,
    CS_PEERS_FILE: join(root, "deploy/peers.json"),
    ...ownSettings(name, process, stateDir, ports),
    ...input.extraEnvironment?.(process),
  };
}
