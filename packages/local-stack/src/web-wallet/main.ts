import { readFileSync } from "node:fs";
import { closeServer } from "@countersign/core";
import { ServiceAccount } from "../service-account.ts";
import type { WebWalletConfig } from "../web-wallet.ts";
import { Faucet } from "./faucet.ts";
import { createWebWallet } from "./serve.ts";

// `node packages/local-stack/src/web-wallet/main.ts <config.json>`: apps/wallet with test tokens, for
// development only.
const settings = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as WebWalletConfig;
const { port, folder, page, serviceKeyFile } = settings;
const origin = `http://localhost:${port}`;
const faucet = new Faucet(new ServiceAccount(page.network.accessNode, readFileSync(serviceKeyFile, "utf8").trim()));
const server = createWebWallet({ origin, folder, config: page, faucet });
server.listen(port, "127.0.0.1", () => console.log(`wallet at ${origin}`));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void closeServer(server));
