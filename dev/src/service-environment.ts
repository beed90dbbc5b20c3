import { join } from "node:path";
import { tlsFiles } from "./certificates.ts";
import { root, type ServiceName, services } from "./paths.ts";
import type { Ports } from "./settings.ts";

export interface EnvironmentInput {
  stateDir: string;
  ports: Ports;
  gateway: string;
  natsUrl: string;
  networksFile: string;
  databaseUrl(service: ServiceName): string;
}

/** Who has limits that a person does not reach and a test does. */
const limited: readonly string[] = ["auth", "device", "key", "signer"];

/** Files that services read and the launcher makes. */
export function stateFiles(stateDir: string) {
  return {
    networks: join(stateDir, "networks.json"),
    providers: join(stateDir, "auth-providers.json"),
    tokenKeyEncryptionKey: join(stateDir, "keys", "auth-token-key-encryption.key"),
    keystore: join(stateDir, "keys", "signer-keystore.json"),
    keystorePassphrase: join(stateDir, "keys", "signer-keystore.passphrase"),
  };
}

/** What only one process is told. */
function ownSettings(name: ServiceName | "gateway", stateDir: string, ports: Ports): Record<string, string> {
  const files = stateFiles(stateDir);
  if (name === "auth") {
    return {
      AUTH_PROVIDERS_FILE: files.providers,
      AUTH_TOKEN_KEY_ENCRYPTION_KEY_FILE: files.tokenKeyEncryptionKey,
      AUTH_HTTP_LISTEN: `127.0.0.1:${ports.authHttp}`,
      AUTH_REQUIRE_LOGIN_TOKEN: "true",
    };
  }
  if (name === "gateway") return { AUTH_REQUIRE_LOGIN_TOKEN: "true" };
  if (name === "signer") {
    return { SIGNER_KEYSTORE_FILE: files.keystore, SIGNER_KEYSTORE_PASSPHRASE_FILE: files.keystorePassphrase };
  }
  return {};
}

/** The little of our own environment that every child needs; nothing else leaks into a service. */
export function baseEnvironment(): NodeJS.ProcessEnv {
  const passed = ["PATH", "HOME", "TMPDIR", "LANG", "TZ", "CS_LOG_LEVEL", "CS_TRACE", "NODE_OPTIONS"];
  return Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

/** The whole environment of a service or the gateway: the same settings as in the cluster, with local values. */
export function serviceEnvironment(name: ServiceName | "gateway", input: EnvironmentInput): NodeJS.ProcessEnv {
  const { ports, stateDir } = input;
  const prefix = name.toUpperCase();
  const tls = tlsFiles(stateDir, name);
  const peers = Object.fromEntries(
    services.map((service) => [`CS_${service.toUpperCase()}_ADDRESS`, `127.0.0.1:${ports[service]}`]),
  );
  return {
    ...baseEnvironment(),
    ...peers,
    [`${prefix}_LISTEN`]: `127.0.0.1:${ports[name]}`,
    [`${prefix}_ADMIN_LISTEN`]: `127.0.0.1:${ports[`${name}Admin`]}`,
    // Tests and demos do in seconds what a person does in a day. The gateway has neither limits nor a database.
    ...(limited.includes(name) ? { [`${prefix}_LIMIT_SCALE`]: "100" } : {}),
    ...(name === "gateway" ? {} : { [`${prefix}_DATABASE_URL`]: input.databaseUrl(name) }),
    AUTH_ISSUER: input.gateway,
    CS_AUTH_HTTP_ADDRESS: `127.0.0.1:${ports.authHttp}`,
    CS_NATS_URL: input.natsUrl,
    CS_TLS_CA: tls.ca,
    CS_TLS_CERT: tls.cert,
    CS_TLS_KEY: tls.key,
    CS_NETWORKS_FILE: input.networksFile,
    CS_PEERS_FILE: join(root, "deploy/peers.json"),
    ...ownSettings(name, stateDir, ports),
  };
}
