import { createECDH, createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";

/** Returns the key of a scalar of 32 bytes. */
export function p256PrivateKey(scalar: Buffer): KeyObject {
  const ecdh = createECDH("prime256v1");
  ecdh.setPrivateKey(scalar);
  const point = ecdh.getPublicKey();
  const part = (bytes: Buffer) => bytes.toString("base64url");
  return createPrivateKey({
    format: "jwk",
    key: { kty: "EC", crv: "P-256", d: part(scalar), x: part(point.subarray(1, 33)), y: part(point.subarray(33)) },
  });
}

/** Returns a new random scalar, 32 bytes in hex. */
export function newScalar(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return Buffer.from(privateKey.export({ format: "jwk" }).d!, "base64url").toString("hex");
}
