import { readFileSync } from "node:fs";

/** A program that may send people here to log in. */
export interface ProviderClient {
  clientId: string;
  appName: string;
  redirectUris: string[];
  /** Is on phones (RFC 8252). */
  isNative?: boolean;
  /** A file with the secret of a confidential client; public clients have none, and need PKCE. */
  clientSecretFile?: string;
}

export interface ProviderConfig {
  /** Such as http://localhost:9000. */
  issuer: string;
  port: number;
  /** The address to listen on; loopback when absent. */
  host?: string;
  /** Keeps signing keys and accounts between starts. */
  stateDir: string;
  clients: ProviderClient[];
}

/** Reads the JSON file that the launcher wrote. */
export function loadConfig(path: string): ProviderConfig {
  return JSON.parse(readFileSync(path, "utf8")) as ProviderConfig;
}
