import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { certificatesIn, type TlsMaterial, type Watched } from "@countersign/core";
import type { z } from "zod";
import { ConfigError, type tlsEnv } from "./config.ts";
import type { Files, ReadFile } from "./files.ts";

export interface TlsPaths {
  ca: string;
  cert: string;
  key: string;
}

/**
 * Reads a process's certificate, key and CA. Errors: ConfigError, also where the key is not the
 * certificate's, or the certificate has expired.
 */
export function loadTls(paths: TlsPaths, readFile: ReadFile = readFileSync): TlsMaterial {
  const read = (path: string) => {
    try {
      return readFile(path);
    } catch (error) {
      throw new ConfigError([`TLS file ${path}: ${(error as NodeJS.ErrnoException).code ?? "cannot be read"}`]);
    }
  };
  const material = { ca: read(paths.ca), cert: read(paths.cert), key: read(paths.key) };
  const own = parse(paths.cert, () => new X509Certificate(material.cert));
  const key = parse(paths.key, () => createPrivateKey(material.key));
  const authorities = parse(paths.ca, () => certificatesIn(material.ca));
  if (authorities.length === 0) throw new ConfigError([`TLS file ${paths.ca}: has no certificate`]);
  if (material.ca.toString("latin1").split("-----BEGIN CERTIFICATE-----").length - 1 !== authorities.length)
    throw new ConfigError([`TLS file ${paths.ca}: a certificate is cut off`]);
  if (!own.checkPrivateKey(key)) throw new ConfigError([`TLS file ${paths.key}: is not the key of ${paths.cert}`]);
  if (own.validToDate.getTime() <= Date.now())
    throw new ConfigError([`TLS file ${paths.cert}: expired at ${own.validToDate.toISOString()}`]);
  // Written again: OpenSSL ignores all certificates after a line that is not as it should be.
  return { ...material, ca: Buffer.from(authorities.join("")) };
}

/**
 * Watches them. A certificate with other names is refused: the process would be another caller. Errors:
 * ConfigError.
 */
export function watchTls(files: Pick<Files, "watch">, paths: TlsPaths): Watched<TlsMaterial> {
  let names: string | undefined;
  return files.watch("tls", (read) => {
    const material = loadTls(paths, read);
    const { subjectAltName = "" } = new X509Certificate(material.cert);
    names ??= subjectAltName;
    if (subjectAltName !== names)
      throw new ConfigError([`TLS file ${paths.cert}: is for ${subjectAltName}, and before it was for ${names}`]);
    return material;
  });
}

function parse<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch {
    throw new ConfigError([`TLS file ${path}: is not PEM of a certificate or key`]);
  }
}

/** Reads them from the files that CS_TLS_CA, CS_TLS_CERT and CS_TLS_KEY name. Errors: ConfigError. */
export function loadTlsFromEnv(env: z.output<typeof tlsEnv>): TlsMaterial {
  return loadTls({ ca: env.CS_TLS_CA, cert: env.CS_TLS_CERT, key: env.CS_TLS_KEY });
}
