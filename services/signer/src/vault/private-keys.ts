import { generateKeyPairSync, hkdfSync } from "node:crypto";

/** Returns a new random scalar, 32 bytes in hex. */
export function newScalar(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return Buffer.from(privateKey.export({ format: "jwk" }).d!, "base64url").toString("hex");
}

/** The order of P-256 (SEC 2, section 2.4.2). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const SALT = "countersign/server-key";

/**
 * Returns the private scalar of a server key: HKDF-SHA256 (RFC 5869) of the root secret over chain, account
 * id, version and a counter. A candidate outside of 1…n−1 is rejected and the next counter tried, so that
 * scalars are uniform. 32 bytes.
 */
export function deriveServerScalar(
  rootSecret: Uint8Array,
  chainName: string,
  accountId: string,
  version: number,
): Buffer {
  for (let counter = 0; counter < 256; counter++) {
    // JSON keeps the parts apart: no chain's name can run into an account's id.
    const info = JSON.stringify([chainName, accountId, version, counter]);
    const candidate = Buffer.from(hkdfSync("sha256", rootSecret, SALT, info, 32));
    const value = BigInt(`0x${candidate.toString("hex")}`);
    if (value > 0n && value < P256_ORDER) return candidate;
  }
  throw new Error("no scalar in 256 candidates");
}
