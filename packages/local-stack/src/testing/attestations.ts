import "reflect-metadata";
import { createHash, createSecretKey, randomBytes, webcrypto } from "node:crypto";
import { encodeCBOR } from "@levischuck/tiny-cbor";
import * as x509 from "@peculiar/x509";
import { CompactEncrypt, CompactSign, exportSPKI, generateKeyPair } from "jose";

const P256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const HOUR_MS = 3_600_000;
const NONCE_EXTENSION = "1.2.840.113635.100.8.2";

const sha256 = (...parts: Uint8Array[]): Buffer => createHash("sha256").update(Buffer.concat(parts)).digest();
const makeKeys = async (): Promise<webcrypto.CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(P256, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;

const pointOf = async ({ publicKey }: webcrypto.CryptoKeyPair) =>
  Buffer.from(await webcrypto.subtle.exportKey("raw", publicKey));

/** The differences of an attacker's attestation. */
export interface AppAttestChange {
  /** Of `generateKey`; default: a new key. */
  keyId?: string;
  environment?: "production" | "development";
  counter?: number;
  /** Another key's id in the place of the attested key's. */
  credentialId?: Buffer;
  /** The leaf's validity begins and ends so many milliseconds from now. */
  validMs?: readonly [from: number, to: number];
  /** The leaf signs itself. */
  isSelfSigned?: boolean;
  /** The intermediate certificate is no authority's. */
  isNoAuthority?: boolean;
  /** Without the extension that holds the nonce. */
  hasNoNonce?: boolean;
  /** Other certificates in the place of the leaf and the intermediate one. */
  certificates?: (leaf: Uint8Array, intermediate: Uint8Array) => Uint8Array[];
  format?: string;
  /** Bytes after the object. */
  trailing?: Buffer;
}

/** An authority in the place of Apple's, which attests the keys of any app. */
export async function createAppAttest(now: Date = new Date()) {
  const at = (ms: number) => new Date(now.getTime() + ms);
  const certify = async (
    subject: string,
    publicKey: webcrypto.CryptoKey,
    issuer: { name: string; keys: webcrypto.CryptoKeyPair },
    extensions: x509.Extension[],
    [from, to]: readonly [number, number] = [-HOUR_MS, HOUR_MS],
  ): Promise<x509.X509Certificate> =>
    x509.X509CertificateGenerator.create({
      serialNumber: `00${randomBytes(15).toString("hex")}`,
      subject: `CN=${subject}`,
      issuer: `CN=${issuer.name}`,
      notBefore: at(from),
      notAfter: at(to),
      publicKey,
      signingKey: issuer.keys.privateKey,
      signingAlgorithm: P256,
      extensions,
    });
  const authority = (isAuthority = true) => [new x509.BasicConstraintsExtension(isAuthority, undefined, true)];
  const root = { name: "Test App Attestation Root CA", keys: await makeKeys() };
  const intermediate = { name: "Test App Attestation CA 1", keys: await makeKeys() };
  const rootCertificate = await certify(root.name, root.keys.publicKey, root, authority());

  const generated = new Map<string, webcrypto.CryptoKeyPair>();

  return {
    root: rootCertificate.toString("pem"),

    /** Makes a key and returns its id. */
    async generateKey(): Promise<string> {
      const keys = await makeKeys();
      const keyId = sha256(await pointOf(keys)).toString("base64");
      generated.set(keyId, keys);
      return keyId;
    },

    /** Attests a key of the app, about `clientDataHash`, as `DCAppAttestService` does. */
    async attest(appId: string, clientDataHash: Uint8Array, change: AppAttestChange = {}) {
      const keys = generated.get(change.keyId ?? "") ?? (await makeKeys());
      const keyId = sha256(await pointOf(keys));
      const { environment = "production", counter = 0, credentialId = keyId } = change;
      const fixed = Buffer.alloc(23);
      fixed[0] = 0x40;
      fixed.writeUInt32BE(counter, 1);
      fixed.write(environment === "production" ? "appattest" : "appattestdevelop", 5);
      fixed.writeUInt16BE(credentialId.length, 21);
      const authData = Buffer.concat([sha256(Buffer.from(appId)), fixed, credentialId, Buffer.from("a0", "hex")]);
      const nonce = Buffer.concat([Buffer.from("3024a1220420", "hex"), sha256(authData, clientDataHash)]);
      const extensions = change.hasNoNonce ? [] : [new x509.Extension(NONCE_EXTENSION, false, nonce)];
      const issuer = change.isSelfSigned ? { name: "leaf", keys } : intermediate;
      const leaf = await certify("leaf", keys.publicKey, issuer, extensions, change.validMs);
      const between = await certify(
        intermediate.name,
        intermediate.keys.publicKey,
        root,
        authority(!change.isNoAuthority),
      );
      const { certificates = (...both: Uint8Array[]) => both } = change;
      const x5c = certificates(new Uint8Array(leaf.rawData), new Uint8Array(between.rawData));
      const object = encodeCBOR(
        new Map<string, string | Uint8Array | Map<string, Uint8Array | Uint8Array[]>>([
          ["fmt", change.format ?? "apple-appattest"],
          [
            "attStmt",
            new Map<string, Uint8Array | Uint8Array[]>([
              ["x5c", x5c],
              ["receipt", new Uint8Array()],
            ]),
          ],
          ["authData", new Uint8Array(authData)],
        ]),
      );
      const token = Buffer.concat([object, change.trailing ?? Buffer.alloc(0)]).toString("base64");
      return { type: "app-attest", keyId: keyId.toString("base64"), token } as const;
    },
  };
}

/** The differences of an attacker's integrity token. */
export interface IntegrityTokenChange {
  jweAlg?: string;
  jweEnc?: string;
  jwsAlg?: "ES256" | "HS256" | "none";
}

/** The two keys of an app in the Play console, and tokens made with them. */
export async function createPlayIntegrity() {
  const decryptionKey = createSecretKey(randomBytes(32));
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const verificationKey = (await exportSPKI(publicKey)).replaceAll(/-----.*-----|\s/g, "");

  /** Returns the JWS of a payload. */
  async function sign(payload: unknown, alg: IntegrityTokenChange["jwsAlg"]): Promise<string> {
    const text = typeof payload === "string" ? payload : JSON.stringify(payload);
    const bytes = new TextEncoder().encode(text);
    if (alg === "none") {
      const header = Buffer.from('{"alg":"none"}').toString("base64url");
      return `${header}.${Buffer.from(bytes).toString("base64url")}.`;
    }
    // The public key's bytes as a secret: the attack on verifiers that take any algorithm.
    const key = alg === "HS256" ? Buffer.from(verificationKey, "base64") : privateKey;
    return new CompactSign(bytes).setProtectedHeader({ alg: alg ?? "ES256" }).sign(key);
  }

  return {
    decryptionKey: decryptionKey.export().toString("base64"),
    verificationKey,
    /** Makes a token of a payload, as Google's servers do. */
    async token(payload: unknown, { jweAlg = "A256KW", jweEnc = "A256GCM", jwsAlg }: IntegrityTokenChange = {}) {
      const jws = new TextEncoder().encode(await sign(payload, jwsAlg));
      return new CompactEncrypt(jws).setProtectedHeader({ alg: jweAlg, enc: jweEnc }).encrypt(decryptionKey);
    },
  };
}

/** The payload of a genuine app on a genuine device. */
export const integrityPayload = (packageName: string, certificateDigest: string, nonce: string, now = new Date()) => ({
  requestDetails: { requestPackageName: packageName, nonce, timestampMillis: String(now.getTime()) },
  appIntegrity: {
    appRecognitionVerdict: "PLAY_RECOGNIZED",
    packageName,
    certificateSha256Digest: [certificateDigest],
    versionCode: "42",
  },
  deviceIntegrity: { deviceRecognitionVerdict: ["MEETS_BASIC_INTEGRITY", "MEETS_DEVICE_INTEGRITY"] },
  accountDetails: { appLicensingVerdict: "LICENSED" },
});
