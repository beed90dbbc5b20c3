import { readFileSync } from "node:fs";
import { ConfigError } from "./config.ts";

/** PEM bytes of one identity and of the authority that it believes. */
export interface TlsMaterial {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
}

export interface TlsPaths {
  ca: string;
  cert: string;
  key: string;
}

export const INTERNAL_DOMAIN = "countersign.internal";

/** The DNS name in the certificate of a service or another backend. */
export function internalName(name: string): string {
  return `${name}.${INTERNAL_DOMAIN}`;
}

/** Reads a process's certificate, key and CA. Errors: ConfigError. */
export function loadTls(paths: TlsPaths): TlsMaterial {
  const read = (path: string) => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw new ConfigError([`TLS file ${path}: ${(error as NodeJS.ErrnoException).code ?? "cannot be read"}`]);
    }
  };
  return { ca: read(paths.ca), cert: read(paths.cert), key: read(paths.key) };
}

/** The same from CS_TLS_CA, CS_TLS_CERT and CS_TLS_KEY. */
export function loadTlsFromEnv(env: { CS_TLS_CA: string; CS_TLS_CERT: string; CS_TLS_KEY: string }): TlsMaterial {
  return loadTls({ ca: env.CS_TLS_CA, cert: env.CS_TLS_CERT, key: env.CS_TLS_KEY });
}
