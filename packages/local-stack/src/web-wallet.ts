import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Child, StartChild } from "./child.ts";
import { waitFor } from "./wait.ts";

/** The content of /config.json, which apps/wallet/src/config.ts reads. */
export interface WebWalletPage {
  gateway: string;
  issuer: string;
  clientId: string;
  network: { chainName: string; accessNode: string; paymaster: string };
}

/** The settings of the wallet's server. */
export interface WebWalletConfig {
  port: number;
  /** The built wallet. */
  folder: string;
  page: WebWalletPage;
  /** The private key of the emulator's service account, which gives test tokens. */
  serviceKeyFile: string;
}

/** Starts the wallet's server and waits until it serves. */
export async function startWebWallet(
  options: WebWalletConfig & { stateDir: string; logFile: string; start: StartChild },
): Promise<Child> {
  const { stateDir, logFile, start, ...config } = options;
  const configFile = join(stateDir, "web-wallet.json");
  writeFileSync(configFile, JSON.stringify(config, null, 2));
  const child = await start({
    name: "web-wallet",
    command: process.execPath,
    args: [join(import.meta.dirname, "web-wallet/main.ts"), configFile],
    logFile,
  });
  await waitFor(child, `http://127.0.0.1:${config.port}/config.json`);
  return child;
}
