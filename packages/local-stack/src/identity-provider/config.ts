/** A program that may send people here to log in. */
export interface ProviderClient {
  clientId: string;
  appName: string;
  redirectUris: readonly string[];
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
