import { X509Certificate } from "node:crypto";
import type { TlsMaterial } from "@countersign/core";
import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns when the first certificate of a PEM file expires, in seconds since 1970. */
function firstExpiry(pem: Buffer): number {
  const ends = (pem.toString("latin1").match(PEM) ?? []).map((each) => new X509Certificate(each).validToDate.getTime());
  return Math.min(...ends) / 1_000;
}

/** Exports when the process's own certificate and its CAs expire; of several in one file the first. */
export function exportCertificateExpiry({ registry }: Metrics, { cert, ca }: TlsMaterial): void {
  const expiry = new Gauge({
    name: "countersign_certificate_expiry_timestamp_seconds",
    help: "When the process's own certificate and the first of its CAs expire",
    labelNames: ["certificate"] as const,
    registers: [registry],
  });
  expiry.set({ certificate: "own" }, firstExpiry(cert));
  expiry.set({ certificate: "ca" }, firstExpiry(ca));
}
