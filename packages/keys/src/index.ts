export { type AttestedRequest, attestationHash, attestationText } from "./attestation.ts";
export { base64urlToBytes, bytesToBase64url } from "./base64url.ts";
export { canonicalPublicKey, isCanonicalPublicKey, publicKeyLength } from "./canonical-public-key.ts";
export { bytesToHex, hexToBytes, isHex } from "./hex.ts";
export {
  type Assertion,
  type AssertionFacts,
  type AssertionPurpose,
  challengeOf,
  inspectAssertion,
  LOGIN_CHALLENGE_BYTES,
} from "./passkey/assertion.ts";
export { type AuthenticatorData, parseAuthenticatorData } from "./passkey/authenticator-data.ts";
export { type ClientData, parseClientData } from "./passkey/client-data.ts";
export { PasskeyError, type PasskeyProblem } from "./passkey/passkey-error.ts";
export { isOrigin, isRpId, isWebViewOrigin, type PasskeySettings, type RelyingParty } from "./passkey/relying-party.ts";
export {
  KEY_ALGORITHMS,
  type KeyAlgorithm,
  PUBLIC_KEY_LENGTHS,
  type PublicKey,
  PublicKeyError,
  parsePublicKey,
  publicKeyBytes,
  publicKeyFingerprint,
  samePublicKey,
} from "./public-key.ts";
export { parseSignature, SignatureError } from "./signature.ts";
export { decodeUtf8, incompleteUtf8 } from "./utf8.ts";
