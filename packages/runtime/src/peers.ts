import { type Peers, peersFile } from "@countersign/rpc";
import { readJsonFile } from "./config.ts";

/** Reads and validates the caller table that CS_PEERS_FILE names. Errors: ConfigError. */
export function loadPeers(path: string): Peers {
  return readJsonFile(path, peersFile);
}
