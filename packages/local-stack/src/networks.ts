import { existsSync, renameSync, writeFileSync } from "node:fs";
import { loadNetworks, type Network } from "@countersign/settings";

/** Returns the networks of a networks file; none where it does not exist. */
export const readNetworks = (file: string): Network[] => (existsSync(file) ? [...loadNetworks(file).values()] : []);

/** Writes a networks file in one step, so that readers see the old one or the new one. */
export function writeNetworks(file: string, networks: readonly Network[]): void {
  writeFileSync(`${file}.new`, `${JSON.stringify({ networks }, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

/** Returns the content of GATEWAY_CHAIN_NODES_FILE: the nodes of a networks file. */
export const chainNodesOf = (networksFile: string): string =>
  JSON.stringify(
    Object.fromEntries(readNetworks(networksFile).map(({ chainName, accessNode }) => [chainName, { url: accessNode }])),
  );
