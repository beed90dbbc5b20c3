import { readFileSync } from "node:fs";
import { createWebWallet } from "./serve.ts";

// `node packages/local-stack/src/web-wallet/main.ts <config.json>`: the example page of examples/web-wallet,
// for development only.
const { port, page } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as { port: number; page: object };
const server = createWebWallet(page);
server.listen(port, "127.0.0.1", () => console.log(`web wallet at http://localhost:${port}`));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    server.close();
    server.closeAllConnections();
  });
}
