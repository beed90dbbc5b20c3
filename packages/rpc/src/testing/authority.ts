import "reflect-metadata";
import { randomBytes, webcrypto } from "node:crypto";
import { internalName, type TlsMaterial } from "@countersign/core";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const HOUR_MS = 3_600_000;

export interface LeafOptions {
  /** DNS names instead of `<name>.countersign.internal`. */
  dns?: string[];
  /** URIs beside the DNS names. */
  uris?: string[];
  /** The common name of the subject. */
  commonName?: string;
  /** Expired an hour ago. */
  expired?: boolean;
  /** Milliseconds until it expires. Default an hour. */
  lifeMs?: number;
}

/** A certificate authority for tests. */
export interface Authority {
  certificate: Buffer;
  issue(name: string, options?: LeafOptions): Promise<TlsMaterial>;
}

function serialNumber(): string {
  return `00${randomBytes(15).toString("hex")}`;
}

async function makeKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
}

/** Creates an authority that issues client and server certificates as the development stack does. */
export async function createAuthority(commonName = "Test CA"): Promise<Authority> {
  const keys = await makeKeys();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: `CN=${commonName}`,
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + HOUR_MS),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const certificate = Buffer.from(root.toString("pem"));
  return {
    certificate,
    async issue(name, options = {}) {
      const leafKeys = await makeKeys();
      const dns = options.dns ?? [internalName(name)];
      const alternatives = [
        ...dns.map((value) => ({ type: "dns" as const, value })),
        ...(options.uris ?? []).map((value) => ({ type: "url" as const, value })),
      ];
      const leaf = await x509.X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: `CN=${options.commonName ?? internalName(name)}`,
        issuer: root.subject,
        notBefore: new Date(Date.now() - 3 * HOUR_MS),
        notAfter: new Date(Date.now() + (options.expired === true ? -HOUR_MS : (options.lifeMs ?? HOUR_MS))),
        publicKey: leafKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: [
          new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
          ...(alternatives.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(alternatives)]),
        ],
      });
      const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", leafKeys.privateKey));
      return {
        ca: certificate,
        cert: Buffer.from(leaf.toString("pem")),
        key: Buffer.from(x509.PemConverter.encode(pkcs8, "PRIVATE KEY")),
      };
    },
  };
}
