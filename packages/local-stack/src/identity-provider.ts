import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, type StartChild, startChild } from "./child.ts";
import type { ProviderConfig } from "./identity-provider/config.ts";
import { waitFor } from "./wait.ts";

export interface DevelopmentClient {
  /** Also the id of its app. */
  clientId: string;
  appName: string;
  /** The first one is the client's in stack.json. */
  redirectUris: readonly [string, ...string[]];
  /** Is on phones: its redirect URI has a scheme of its own. */
  isNative?: boolean;
  keyBinding: "optional" | "required";
  /** Has a secret: its codes need no verifier, and its ID tokens are without profile (userinfo has it). */
  confidential?: boolean;
}

/**
 * An app with a server of its own, as clients of the original contract are: it sends method, token and chain
 * only.
 */
export const SERVER_APP_CLIENT = "server-app";

/**
 * A client of somebody else's at the same provider: auth does not know it, and its tokens are no logins here.
 */
export const FOREIGN_CLIENT = { clientId: "foreign-app", redirectUri: "http://localhost/foreign-app/callback" };

export const WEB_WALLET_CLIENT = "web-wallet";

/**
 * Returns the apps that the development provider knows; auth is configured with the same. `webWallet`: the
 * wallet's address, where it is served.
 */
export function developmentClients(gateway: string, webWallet?: string): DevelopmentClient[] {
  const demo: DevelopmentClient = {
    clientId: "demo",
    appName: "Demo wallet",
    redirectUris: [`${gateway}/callback`],
    keyBinding: "optional",
  };
  const serverApp: DevelopmentClient = {
    clientId: SERVER_APP_CLIENT,
    appName: "Server app",
    redirectUris: [`${gateway}/server-app/callback`],
    keyBinding: "optional",
    confidential: true,
  };
  if (webWallet === undefined) return [demo, serverApp];
  const page: DevelopmentClient = {
    clientId: WEB_WALLET_CLIENT,
    appName: "Countersign Wallet",
    redirectUris: [`${webWallet}/`],
    keyBinding: "required",
  };
  return [demo, serverApp, page];
}

/**
 * Returns the content of auth's AUTH_PROVIDERS_FILE. `secretFile` has the secret of confidential clients. A
 * code without a redirect URI is the first client's.
 */
export function authProviders(issuer: string, clients: DevelopmentClient[], secretFile: string): unknown {
  const entries = clients.map((client, index) => ({
    clientId: client.clientId,
    ...(client.confidential && { clientSecretFile: secretFile }),
    appId: client.clientId,
    appName: client.appName,
    keyBinding: client.keyBinding,
    allowCodeWithoutVerifier: client.confidential === true,
    redirectUris: client.redirectUris,
    ...(index === 0 && { defaultRedirectUri: client.redirectUris[0] }),
  }));
  const introspection = { clientId: SERVER_APP_CLIENT, clientSecretFile: secretFile };
  return { providers: [{ name: "dev", issuer, clients: entries, introspection, allowInsecureHttp: true }] };
}

/** Returns the provider's configuration: the clients of auth's file, and a foreign one. */
export function providerConfig({
  secretFile,
  ...options
}: Omit<ProviderConfig, "clients"> & { clients: DevelopmentClient[]; secretFile: string }): ProviderConfig {
  const clients = options.clients.map((client) => ({
    clientId: client.clientId,
    appName: client.appName,
    redirectUris: client.redirectUris,
    ...(client.isNative && { isNative: true }),
    ...(client.confidential && { clientSecretFile: secretFile }),
  }));
  const { clientId, redirectUri } = FOREIGN_CLIENT;
  const foreign = { clientId, appName: "Foreign app", redirectUris: [redirectUri] };
  return { ...options, clients: [...clients, foreign] };
}

/** Starts the provider and waits until it serves its discovery document. */
export async function startIdentityProvider(options: {
  stateDir: string;
  port: number;
  issuer: string;
  clients: DevelopmentClient[];
  secretFile: string;
  logFile: string;
  start?: StartChild;
}): Promise<Child> {
  const stateDir = join(options.stateDir, "identity-provider");
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const { issuer, port, clients, secretFile } = options;
  const config = providerConfig({ issuer, port, stateDir, clients, secretFile });
  const configFile = join(stateDir, "config.json");
  writeFileSync(configFile, JSON.stringify(config, null, 2));
  const child = await (options.start ?? startChild)({
    name: "identity-provider",
    command: process.execPath,
    args: [join(import.meta.dirname, "identity-provider/main.ts"), configFile],
    logFile: options.logFile,
  });
  await waitFor(child, `http://127.0.0.1:${options.port}/.well-known/openid-configuration`);
  return child;
}
