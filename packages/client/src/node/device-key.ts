import { createPrivateKey, type JsonWebKey, type KeyObject } from "node:crypto";
import type { KeyAlgorithm } from "@countersign/keys";
import { generateKeyPair, publicKeyOf, signMessage } from "@countersign/keys/node";
import type { DeviceKey } from "../resources.ts";

/** A private key as a JSON Web Key (RFC 7517). */
export type DeviceKeyJwk = JsonWebKey;

/** A device key in the memory of a program, for tests, tools and the demo: phones keep theirs in hardware. */
export interface NodeDeviceKey extends DeviceKey {
  /**
   * Returns the private key. It is the account's second factor: store it like a secret.
   * @example const secret = JSON.stringify(deviceKey.toJwk());
   */
  toJwk(): DeviceKeyJwk;
}

/**
 * Creates a key, P-256 by default.
 * @example const deviceKey = generateDeviceKey();
 */
export function generateDeviceKey(algorithm: KeyAlgorithm = "ES256"): NodeDeviceKey {
  return fromPrivateKey(generateKeyPair(algorithm).privateKey);
}

/**
 * Returns the key that `toJwk` exported.
 * @example
 * const copy = deviceKeyFromJwk(deviceKey.toJwk());
 * copy.publicKey === deviceKey.publicKey; // => true
 */
export function deviceKeyFromJwk(jwk: DeviceKeyJwk): NodeDeviceKey {
  return fromPrivateKey(createPrivateKey({ format: "jwk", key: jwk }));
}

function fromPrivateKey(privateKey: KeyObject): NodeDeviceKey {
  return {
    ...publicKeyOf(privateKey),
    sign: async (message) => signMessage(privateKey, message),
    toJwk: () => privateKey.export({ format: "jwk" }),
  };
}
