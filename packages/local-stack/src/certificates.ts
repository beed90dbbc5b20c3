import "reflect-metadata";
import { type KeyObject, X509Certificate as NodeCertificate, randomBytes, webcrypto } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { internalName, type TlsMaterial } from "@countersign/core";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const day = 24 * 60 * 60 * 1000;
const lifetimeDays = 90;
const renewBeforeDays = 14;

/** Everybody who has a certificate: the services, and clients such as a backend that calls the signer. */
export const certificateNames = [
  "gateway",
  "auth",
  "device",
  "key",
  "account",
  "signer",
  "nats",
  "demo-backend",
  "operator",
  // Two administrators, since some commands take two persons.
  "admin-ada",
  "admin-grace",
] as const;

const ADMIN = "admin-";

type Keys = webcrypto.CryptoKeyPair;

export interface TlsFiles {
  ca: string;
  cert: string;
  key: string;
}

/** Returns the paths of a name's certificate and key below a state directory. */
export function tlsFiles(stateDir: string, name: string): TlsFiles {
  const dir = join(stateDir, "tls");
  return { ca: join(dir, "ca.pem"), cert: join(dir, `${name}.pem`), key: join(dir, `${name}.key`) };
}

export function readTls({ ca, cert, key }: TlsFiles): TlsMaterial {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
}

function closeToExpiry(path: string): boolean {
  return new NodeCertificate(readFileSync(path)).validToDate.getTime() - Date.now() < renewBeforeDays * day;
}

async function writeKey(path: string, key: webcrypto.CryptoKey): Promise<void> {
  const der = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key));
  writeFileSync(path, x509.PemConverter.encode(der, "PRIVATE KEY"), { mode: 0o600 });
}

function validity(lifeMs = lifetimeDays * day): { serialNumber: string; notBefore: Date; notAfter: Date } {
  return {
    serialNumber: `00${randomBytes(15).toString("hex")}`,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + lifeMs),
  };
}

/** Creates an authority and writes its certificate and its key. */
export async function makeAuthority(certPath: string, keyPath: string): Promise<void> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as Keys;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: "CN=Countersign development CA",
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  await writeKey(keyPath, keys.privateKey);
  writeFileSync(certPath, `${certificate.toString("pem")}\n`);
}

export async function readAuthority(certPath: string, keyPath: string) {
  const der = x509.PemConverter.decodeFirst(readFileSync(keyPath, "utf8"));
  const key = await webcrypto.subtle.importKey("pkcs8", der, algorithm, false, ["sign"]);
  return { certificate: new x509.X509Certificate(readFileSync(certPath, "utf8")), key };
}

/** Issues a certificate and writes it with its key. Default: for 90 days. */
export async function makeLeaf(
  name: string,
  files: Pick<TlsFiles, "cert" | "key">,
  authority: Awaited<ReturnType<typeof readAuthority>>,
  lifeMs?: number,
): Promise<void> {
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as Keys;
  const isPerson = name.startsWith(ADMIN);
  const names: x509.JsonGeneralNames = [{ type: "dns", value: internalName(isPerson ? "admin" : name) }];
  if (isPerson) names.push({ type: "url", value: `countersign:person:${name.slice(ADMIN.length)}` });
  // NATS is dialled by the address that stack.json names.
  if (name === "nats") names.push({ type: "dns", value: "localhost" }, { type: "ip", value: "127.0.0.1" });
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(lifeMs),
    subject: `CN=${internalName(name)}`,
    issuer: authority.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: authority.key,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension(names),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate),
    ],
  });
  await writeKey(files.key, keys.privateKey);
  writeFileSync(files.cert, `${certificate.toString("pem")}\n`);
}

function issuedBy(certPath: string, caPath: string): boolean {
  const authority: { publicKey: KeyObject } = new NodeCertificate(readFileSync(caPath));
  return new NodeCertificate(readFileSync(certPath)).verify(authority.publicKey);
}

/**
 * Creates the development CA and one certificate per name where one is missing, close to expiry, or of an
 * earlier CA.
 */
export async function ensureCertificates(stateDir: string): Promise<void> {
  mkdirSync(join(stateDir, "tls"), { recursive: true, mode: 0o700 });
  const { ca: caPath } = tlsFiles(stateDir, "ca");
  const caKeyPath = join(stateDir, "tls", "ca.key");
  if (!existsSync(caPath) || !existsSync(caKeyPath) || closeToExpiry(caPath)) await makeAuthority(caPath, caKeyPath);
  const authority = await readAuthority(caPath, caKeyPath);
  for (const name of certificateNames) {
    const files = tlsFiles(stateDir, name);
    const good = existsSync(files.cert) && existsSync(files.key) && issuedBy(files.cert, caPath);
    if (!good || closeToExpiry(files.cert)) await makeLeaf(name, files, authority);
  }
}
