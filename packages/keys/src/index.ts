export { bytesToHex, hexToBytes, isHex } from "./hex.ts";
export {
  KEY_ALGORITHMS,
  type KeyAlgorithm,
  type PublicKey,
  PublicKeyError,
  parsePublicKey,
  publicKeyBytes,
  publicKeyFingerprint,
  samePublicKey,
} from "./public-key.ts";
export { parseSignature, SignatureError } from "./signature.ts";
