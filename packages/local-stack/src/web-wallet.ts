import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { type Child, logTail, type StartChild } from "./child.ts";
import { waitFor } from "./wait.ts";

/** The content of /config.json, which examples/web-wallet/wallet.ts reads. */
export interface WebWalletPage {
  gateway: string;
  issuer: string;
  clientId: string;
  network: { chainName: string; accessNode: string; paymaster: string };
}

/** Starts the example page's server and waits until it serves. */
export async function startWebWallet(options: {
  stateDir: string;
  port: number;
  page: WebWalletPage;
  logFile: string;
  start: StartChild;
}): Promise<Child> {
  const { stateDir, port, page, logFile, start } = options;
  const configFile = join(stateDir, "web-wallet.json");
  writeFileSync(configFile, JSON.stringify({ port, page }, null, 2));
  const child = await start({
    name: "web-wallet",
    command: process.execPath,
    args: [join(import.meta.dirname, "web-wallet/main.ts"), configFile],
    logFile,
  });
  await waitFor(child, `http://127.0.0.1:${port}/config.json`, (why) =>
    Promise.reject(new Failure(`the web wallet ${why}:\n${logTail(logFile)}`)),
  );
  return child;
}
