import { passkeySignature, type TransactionSignature } from "@countersign/flow";
import {
  type AttestedRequest,
  attestationHash,
  attestationText,
  bytesToBase64url,
  bytesToHex,
  challengeOf,
  hexToBytes,
} from "@countersign/keys";
import type { Attestation, DeviceAttributes, Login, Passkey, UserKey } from "./resources.ts";

export const isPasskey = (key: UserKey): key is Passkey => "assert" in key;

/**
 * Returns a user key with its device, in the form of sign-up and 2FA requests: the device has the same key.
 */
export const userKeyBody = (key: UserKey, device: DeviceAttributes | undefined) => {
  const { publicKey, algorithm } = key;
  const type = isPasskey(key) ? "passkey" : "device";
  return { type, publicKey, algorithm, device: { publicKey, algorithm, ...device } };
};

/** The request that an attestation is about, in the three forms that the platforms' APIs take. */
export interface AttestedClientData {
  /** The text itself, for modules that hash it, as `attestKeyAsync` of Expo does. */
  readonly clientData: string;
  /** Its SHA-256: `clientDataHash` of App Attest. */
  readonly clientDataHash: Uint8Array;
  /** The same in base64url: `nonce` of a classic request of Play Integrity. */
  readonly nonce: string;
}

/** Has the phone's platform attest the app. undefined: this platform has no attestation. */
export type Attest = (request: AttestedClientData) => Promise<Attestation | undefined>;

/** Returns the app's attestation of a request with a new key, in the form of its body. */
export async function attestationOf(
  attest: Attest | undefined,
  operation: AttestedRequest["operation"],
  key: UserKey,
  { login, chainName }: { login: Login; chainName: string },
): Promise<object> {
  if (!attest) return {};
  const request = { operation, chainName, loginToken: login.token, accountKey: key, deviceKey: key };
  const clientDataHash = attestationHash(request);
  const clientData = attestationText(request);
  const made = await attest({ clientData, clientDataHash, nonce: bytesToBase64url(clientDataHash) });
  return made ? { attestationType: made.type, attestationKeyId: made.keyId, attestationToken: made.token } : {};
}

/** Answers a login's challenge (hex), in the form of the request body. */
export async function answerChallenge(key: UserKey, challengeData: string): Promise<object> {
  // Throws where the server asks for anything but 16 bytes: it could be a transaction, or the digest of one.
  const challenge = challengeOf({ login: hexToBytes(challengeData) });
  if (!isPasskey(key)) {
    const signature = bytesToHex(await key.sign(challenge));
    return { challengeType: "deviceKey", challengeData, deviceKey: { signature } };
  }
  const { clientDataJSON, authenticatorData, signature } = await key.assert(challenge);
  const passKey = {
    clientDataJSON: bytesToBase64url(clientDataJSON),
    authenticatorData: bytesToBase64url(authenticatorData),
    signature: bytesToBase64url(signature),
  };
  return { challengeType: "passKey", challengeData, passKey };
}

/** Approves a 2FA request with this message, in the form of the request body. */
export async function approvalOf(key: UserKey, message: Uint8Array): Promise<object> {
  if (!isPasskey(key)) return { signature: bytesToHex(await key.sign(message)) };
  const { clientDataJSON, authenticatorData, signature } = await key.assert(challengeOf({ transaction: message }));
  return {
    signature: bytesToHex(signature),
    clientDataJSON: bytesToBase64url(clientDataJSON),
    authenticatorData: bytesToBase64url(authenticatorData),
  };
}

/**
 * Returns the key's signature over a transaction's message (tag and RLP), as it goes on chain: a passkey's
 * with its extension data.
 * @example
 * const { signature, extensionData } = await signMessageWith(deviceKey, payloadMessage(transaction));
 */
export async function signMessageWith(
  key: UserKey,
  message: Uint8Array,
): Promise<Pick<TransactionSignature, "signature" | "extensionData">> {
  if (!isPasskey(key)) return { signature: bytesToHex(await key.sign(message)) };
  return passkeySignature(await key.assert(challengeOf({ transaction: message })));
}
