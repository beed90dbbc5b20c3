import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, logTail, type StartChild, startChild } from "./child.ts";
import { Failure } from "./fail.ts";
import type { ProviderConfig } from "./identity-provider/config.ts";
import { waitFor } from "./wait.ts";

export interface DevelopmentClient {
  clientId: string;
  appId: string;
  appName: string;
  redirectUri: string;
  keyBinding: "optional" | "required";
}

/** The client that the example page is. */
export const WEB_WALLET_CLIENT = "web-wallet";

/** The apps that the development provider knows; auth is told the same. `webWallet`: the example page's address, where it is served. */
export function developmentClients(gateway: string, webWallet?: string): DevelopmentClient[] {
  const demo: DevelopmentClient = {
    clientId: "demo",
    appId: "demo",
    appName: "Demo wallet",
    redirectUri: `${gateway}/callback`,
    keyBinding: "optional",
  };
  if (webWallet === undefined) return [demo];
  const page: DevelopmentClient = {
    clientId: WEB_WALLET_CLIENT,
    appId: WEB_WALLET_CLIENT,
    appName: "Web wallet",
    redirectUri: `${webWallet}/`,
    keyBinding: "required",
  };
  return [demo, page];
}

/** What auth reads from AUTH_PROVIDERS_FILE. */
export function authProviders(issuer: string, clients: DevelopmentClient[]): unknown {
  const entries = clients.map(({ clientId, appId, appName, keyBinding, redirectUri }) => ({
    clientId,
    appId,
    appName,
    keyBinding,
    allowCodeWithoutVerifier: false,
    redirectUris: [redirectUri],
  }));
  return { providers: [{ name: "dev", issuer, clients: entries, allowInsecureHttp: true }] };
}

/** What the provider reads: its clients are those of auth's file. */
export function providerConfig(
  options: Omit<ProviderConfig, "clients"> & { clients: DevelopmentClient[] },
): ProviderConfig {
  const clients = options.clients.map(({ clientId, appName, redirectUri }) => ({
    clientId,
    appName,
    redirectUris: [redirectUri],
  }));
  return { ...options, clients };
}

/** Starts the provider and waits until it serves its discovery document. */
export async function startIdentityProvider(options: {
  stateDir: string;
  port: number;
  issuer: string;
  clients: DevelopmentClient[];
  logFile: string;
  start?: StartChild;
}): Promise<Child> {
  const stateDir = join(options.stateDir, "identity-provider");
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const { issuer, port, clients } = options;
  const config = providerConfig({ issuer, port, stateDir, clients });
  const configFile = join(stateDir, "config.json");
  writeFileSync(configFile, JSON.stringify(config, null, 2));
  const child = await (options.start ?? startChild)({
    name: "identity-provider",
    command: process.execPath,
    args: [join(import.meta.dirname, "identity-provider/main.ts"), configFile],
    logFile: options.logFile,
  });
  await waitFor(child, `http://127.0.0.1:${options.port}/.well-known/openid-configuration`, (why) =>
    Promise.reject(new Failure(`the identity provider ${why}:\n${logTail(options.logFile)}`)),
  );
  return child;
}
