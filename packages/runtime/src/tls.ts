import { readFileSync } from "node:fs";
import type { TlsMaterial } from "@countersign/core";
import { ConfigError } from "./config.ts";

export interface TlsPaths {
  ca: string;
  cert: string;
  key: string;
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

/** Reads them from the files that CS_TLS_CA, CS_TLS_CERT and CS_TLS_KEY name. Errors: ConfigError. */
export function loadTlsFromEnv(env: { CS_TLS_CA: string; CS_TLS_CERT: string; CS_TLS_KEY: string }): TlsMaterial {
  return loadTls({ ca: env.CS_TLS_CA, cert: env.CS_TLS_CERT, key: env.CS_TLS_KEY });
}
