import { certificatesIn, type TlsMaterial, type Watched } from "@countersign/core";
import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** Returns when the first certificate of a PEM file expires, in seconds since 1970. */
const firstExpiry = (pem: Buffer): number =>
  Math.min(...certificatesIn(pem).map(({ validToDate }) => validToDate.getTime())) / 1_000;

/**
 * Exports when the process's own certificate and its CAs expire, of several in one file the first, and those
 * of connections to the database. Returns what sets the last ones.
 */
export function exportCertificateExpiry({ registry }: Pick<Metrics, "registry">, tls: Watched<TlsMaterial>) {
  const expiry = new Gauge({
    name: "countersign_certificate_expiry_timestamp_seconds",
    help: "When the certificate in use, and the first of the CAs in use, expire",
    labelNames: ["certificate"] as const,
    registers: [registry],
  });
  const set = ({ cert, ca }: TlsMaterial): void => {
    expiry.set({ certificate: "own" }, firstExpiry(cert));
    expiry.set({ certificate: "ca" }, firstExpiry(ca));
  };
  set(tls.current());
  tls.onChange(set);
  return {
    /** Sets when the certificates of the newest connection expire; undefined where it has none. */
    onDatabaseConnection({ server, client }: { server: Date | undefined; client: Date | undefined }): void {
      if (server) expiry.set({ certificate: "database" }, server.getTime() / 1_000);
      if (client) expiry.set({ certificate: "database-client" }, client.getTime() / 1_000);
    },
  };
}
