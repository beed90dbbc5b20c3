import { createHash, X509Certificate } from "node:crypto";
import { AppError } from "@countersign/core";
import { decodeCBOR } from "@levischuck/tiny-cbor";
import { AsnConvert } from "@peculiar/asn1-schema";
import { Certificate } from "@peculiar/asn1-x509";
import type { VerifyAttestation } from "../../domain/attestation.ts";

/** An app of Apple's platforms. */
interface AppAttestApp {
  readonly teamId: string;
  readonly bundleIds: readonly string[];
  readonly environment: "production" | "development";
  /** The authority of its attestations. */
  readonly root: X509Certificate;
}

const NONCE_EXTENSION = "1.2.840.113635.100.8.2";
/** SEQUENCE { [1] { OCTET STRING of 32 bytes } }: the nonce follows. */
const NONCE_PREFIX = Buffer.from("3024a1220420", "hex");
const AAGUIDS = {
  production: Buffer.from("appattest\0\0\0\0\0\0\0"),
  development: Buffer.from("appattestdevelop"),
} as const;
/** Up to the end of the credential's id; the public key and extensions follow. */
const LEAST_AUTH_DATA_BYTES = 87;

const sha256 = (...parts: Uint8Array[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const refuse = (detail: string, cause?: unknown): AppError =>
  new AppError("InvalidAttestation", { detail: `App Attest: ${detail}`, cause });

function bytesOf(text: string, name: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text) throw refuse(`${name} is not base64`);
  return bytes;
}

/** Returns the parts of an attestation object; CBOR that is not exactly one such object is refused. */
function decode(token: string): { leaf: X509Certificate; intermediate: X509Certificate; authData: Uint8Array } {
  const bytes = bytesOf(token, "the attestation object");
  try {
    // A copy: the library reads from the beginning of the buffer, of which Node shares one among many.
    const object = decodeCBOR(new Uint8Array(bytes));
    const member = (of: unknown, name: string): unknown => (of instanceof Map ? of.get(name) : undefined);
    const certificates = member(member(object, "attStmt"), "x5c");
    const authData = member(object, "authData");
    if (member(object, "fmt") !== "apple-appattest" || !(authData instanceof Uint8Array)) throw new Error("its shape");
    if (!Array.isArray(certificates) || certificates.length !== 2) throw new Error("not two certificates");
    const [leaf, intermediate] = certificates.map((der) => {
      const certificate = new X509Certificate(der as Uint8Array);
      // Bytes after the certificate, or another form of it.
      if (!certificate.raw.equals(der as Uint8Array)) throw new Error("not one certificate");
      return certificate;
    });
    return { leaf: leaf!, intermediate: intermediate!, authData };
  } catch (cause) {
    throw refuse("this is no attestation object", cause);
  }
}

/** Requires that each certificate is valid now and was issued by the next one. */
function requireChain(chain: readonly X509Certificate[], now: Date): void {
  for (const [at, certificate] of chain.entries()) {
    if (now < certificate.validFromDate || now > certificate.validToDate)
      throw refuse("a certificate is not valid now");
    const issuer = chain[at + 1];
    if (issuer === undefined) return;
    if (!issuer.ca || !certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey)) {
      throw refuse("the certificates do not lead to the root");
    }
  }
}

/** Returns the value of the extension that holds the nonce, in DER. */
function nonceExtension(leaf: X509Certificate): Buffer {
  const { extensions = [] } = AsnConvert.parse(leaf.raw, Certificate).tbsCertificate;
  const found = extensions.filter(({ extnID }) => extnID === NONCE_EXTENSION);
  if (found.length !== 1) throw refuse("the certificate has no nonce");
  return Buffer.from(found[0]!.extnValue.buffer);
}

/** Returns the uncompressed point of a certificate's P-256 key. */
function pointOf({ publicKey }: X509Certificate): Buffer {
  if (publicKey.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw refuse("the key is not of P-256");
  const { x, y } = publicKey.export({ format: "jwk" });
  return Buffer.concat([Buffer.of(4), Buffer.from(x!, "base64url"), Buffer.from(y!, "base64url")]);
}

/**
 * Verifies attestations of an app by the nine steps of Apple's "Validating apps that connect to your server".
 * The assertions that the attested key could make later are not used. Errors: InvalidAttestation.
 */
export function verifyAppAttest(app: AppAttestApp): VerifyAttestation {
  const { teamId, bundleIds, environment, root } = app;
  const appIds = bundleIds.map((bundleId) => sha256(Buffer.from(`${teamId}.${bundleId}`)));
  return async ({ keyId: sent, token }, clientDataHash, now) => {
    const keyId = bytesOf(sent, "keyId");
    const { leaf, intermediate, authData } = decode(token);
    // Step 1: the certificates.
    requireChain([leaf, intermediate, root], now);
    // Steps 2 to 4: the nonce.
    const nonce = sha256(authData, clientDataHash);
    if (!nonceExtension(leaf).equals(Buffer.concat([NONCE_PREFIX, nonce]))) {
      throw refuse("it is about another request: login token, keys, chain and operation must be those of this one");
    }
    // Step 5: the key's id.
    if (!sha256(pointOf(leaf)).equals(keyId)) throw refuse("keyId is not the attested key's");
    // Steps 6 to 9: the authenticator data, which the nonce covers.
    if (authData.length < LEAST_AUTH_DATA_BYTES) throw refuse("the authenticator data is too short");
    const data = Buffer.from(authData);
    if (!appIds.some((appId) => appId.equals(data.subarray(0, 32)))) throw refuse("it is of another app");
    if (data.readUInt32BE(33) !== 0) throw refuse("the key's counter is not 0");
    if (!data.subarray(37, 53).equals(AAGUIDS[environment]))
      throw refuse(`it is not of the ${environment} environment`);
    if (data.readUInt16BE(53) !== 32 || !data.subarray(55, 87).equals(keyId)) {
      throw refuse("the credential is another key");
    }
    return sent;
  };
}
