import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { closeServer } from "@countersign/core";
import type { ProviderConfig } from "./config.ts";
import { createInteractions } from "./interactions.ts";
import { createProvider } from "./provider.ts";

// `node packages/local-stack/src/identity-provider/main.ts <config.json>`: its own process, like a provider
// on the internet.
const config = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as ProviderConfig;
const { provider, accounts } = createProvider(config);
const interactions = createInteractions(provider, accounts);
const callback = provider.callback();

const server = createServer(async (request, response) => {
  if (!(await interactions(request, response))) await callback(request, response);
});
server.listen(config.port, config.host ?? "127.0.0.1", () => console.log(`identity provider at ${config.issuer}`));

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void closeServer(server));
