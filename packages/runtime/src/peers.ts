import { type Peers, peersFile } from "@countersign/rpc";
import { ConfigError, readJsonFile } from "./config.ts";
import type { ReadFile } from "./files.ts";

/** Reads and validates the caller table that CS_PEERS_FILE names. Errors: ConfigError. */
export const loadPeers = (path: string, read?: ReadFile): Peers => readJsonFile(path, peersFile, read);

/** Requires a row for each of these RPCs, as a server that starts does. Errors: ConfigError. */
export function requireRpcs(peers: Peers, rpcs: Iterable<string>): void {
  const missing = [...rpcs].filter((rpc) => peers.rule(rpc) === undefined);
  const problems = missing.map((rpc) => `${rpc} is not in the caller table: add its row of deploy/peers.json`);
  if (problems.length > 0) throw new ConfigError(problems);
}
