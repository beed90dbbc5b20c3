import { X509Certificate } from "node:crypto";

/** PEM bytes of one mutual TLS identity and of the authority that it trusts. */
export interface TlsMaterial {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Returns the certificates of a PEM file. Errors: those of X509Certificate. */
export const certificatesIn = (pem: Buffer): X509Certificate[] =>
  (pem.toString("latin1").match(PEM) ?? []).map((each) => new X509Certificate(each));

/** Returns a function that says of each change whether it removes a CA. */
export function createCaRemoval(first: TlsMaterial): (changed: TlsMaterial) => boolean {
  const trustedBy = ({ ca }: TlsMaterial) => new Set(certificatesIn(ca).map(({ fingerprint256 }) => fingerprint256));
  let trusted = trustedBy(first);
  return (changed) => {
    const before = trusted;
    trusted = trustedBy(changed);
    return [...before].some((authority) => !trusted.has(authority));
  };
}
