import { createPublicKey } from "node:crypto";
import { parseSignature } from "@countersign/keys";
import { GoogleAuth } from "google-auth-library";
import { z } from "zod";
import { holderUnavailable, type KeyHolder, KeyHolderError, p256Key } from "./key-holder.ts";

export interface GcpKmsOptions {
  /** A service account's file; absent: where Google's library looks (the workload's own identity). */
  readonly credentialsFile?: string | undefined;
  /** Instead of https://cloudkms.googleapis.com, for tests. Then `accessToken` replaces the library. */
  readonly endpoint?: string | undefined;
  readonly accessToken?: () => Promise<string>;
}

const SCOPE = "https://www.googleapis.com/auth/cloudkms";
const TIMEOUT_MS = 3000;
/** Decimal in a string, as JSON has 64-bit integers. */
const checksum = z
  .string()
  .regex(/^\d{1,10}$/)
  .transform(Number);
const publicKeyAnswer = z.object({ pem: z.string(), pemCrc32c: checksum, algorithm: z.string() });
const signAnswer = z.object({
  signature: z.base64(),
  signatureCrc32c: checksum,
  verifiedDigestCrc32c: z.literal(true),
  name: z.string(),
});

/** Returns CRC-32C (RFC 3720, appendix B.4), Google Cloud KMS's checksum of requests and answers. */
export function crc32c(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function requireChecksum(bytes: Uint8Array, expected: number): void {
  if (crc32c(bytes) !== expected) throw holderUnavailable(new Error("an answer of Google Cloud KMS was damaged"));
}

/**
 * Opens Google Cloud KMS over its REST interface: key versions of algorithm EC_SIGN_P256_SHA256, named
 * projects/…/cryptoKeyVersions/n. It does not support SHA3, so it gets our digest in the place of its own
 * SHA-256. Checksums in both directions are compared, as Google's documentation of data integrity requires;
 * an answer without them is refused.
 */
export function gcpKms(options: GcpKmsOptions): KeyHolder {
  const { credentialsFile, endpoint = "https://cloudkms.googleapis.com" } = options;
  const auth = options.accessToken
    ? undefined
    : new GoogleAuth({ scopes: [SCOPE], ...(credentialsFile && { keyFilename: credentialsFile }) });

  async function ask<T>(path: string, shape: z.ZodType<T>, body?: object): Promise<T> {
    try {
      const token = auth ? await auth.getAccessToken() : await options.accessToken?.();
      const response = await fetch(`${endpoint}/v1/${path}`, {
        method: body ? "POST" : "GET",
        headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
        ...(body && { body: JSON.stringify(body) }),
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) throw new Error(`Google Cloud KMS answered ${response.status}`);
      return shape.parse(await response.json());
    } catch (cause) {
      throw holderUnavailable(cause);
    }
  }

  return {
    async publicKey(id) {
      const { pem, pemCrc32c, algorithm } = await ask(`${id}/publicKey`, publicKeyAnswer);
      requireChecksum(Buffer.from(pem), pemCrc32c);
      if (algorithm !== "EC_SIGN_P256_SHA256")
        throw new KeyHolderError("the key in Google Cloud KMS is not EC_SIGN_P256_SHA256");
      return p256Key(createPublicKey(pem));
    },
    async signDigest(id, digest) {
      const body = {
        digest: { sha256: Buffer.from(digest).toString("base64") },
        digestCrc32c: String(crc32c(digest)),
      };
      const { signature, signatureCrc32c, name } = await ask(`${id}:asymmetricSign`, signAnswer, body);
      if (name !== id) throw holderUnavailable(new Error("Google Cloud KMS answered for another key"));
      const der = Buffer.from(signature, "base64");
      requireChecksum(der, signatureCrc32c);
      return parseSignature(der);
    },
    close: () => undefined,
  };
}
