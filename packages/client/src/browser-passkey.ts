import { base64urlToBytes, bytesToBase64url, bytesToHex, canonicalPublicKey } from "@countersign/keys";
import type { Passkey } from "./resources.ts";

/**
 * The part of `navigator.credentials` that is used; a substitute may be given instead.
 * @example
 * const credentials: PasskeyCredentials = {
 *   create: async () => null, // the person refuses
 *   get: async () => null,
 * };
 * const passkey = await createBrowserPasskey({ ...passkeyOptions, credentials }).catch(() => undefined);
 */
export interface PasskeyCredentials {
  /** Creates a credential, as `navigator.credentials.create`. */
  create(options: { publicKey: CreationOptions }): Promise<unknown>;
  /** Has a credential sign, as `navigator.credentials.get`. */
  get(options: { publicKey: RequestOptions }): Promise<unknown>;
}

/** PublicKeyCredentialCreationOptions, as far as they are used (WebAuthn level 3, section 5.4). */
export interface CreationOptions {
  challenge: Uint8Array;
  rp: { id: string; name: string };
  user: { id: Uint8Array; name: string; displayName: string };
  pubKeyCredParams: { type: "public-key"; alg: number }[];
  authenticatorSelection: { residentKey: "required"; userVerification: "required" };
  attestation: "none";
}

/** PublicKeyCredentialRequestOptions, as far as they are used (WebAuthn level 3, section 5.5). */
export interface RequestOptions {
  challenge: Uint8Array;
  rpId: string;
  allowCredentials: { type: "public-key"; id: Uint8Array }[];
  userVerification: "required";
}

/**
 * A passkey of this browser or phone. Store `publicKey` and `credentialId` together: the pair is recorded
 * nowhere else.
 */
export interface BrowserPasskey extends Passkey {
  /** base64url. */
  readonly credentialId: string;
  /** The relying party's id: the page's domain, or one above it. */
  readonly rpId: string;
}

/**
 * Thrown when the browser created no passkey, or returned no assertion.
 * @example
 * const passkey = await createBrowserPasskey(passkeyOptions).catch((error) => {
 *   if (error instanceof PasskeyUnavailableError) return undefined;
 *   throw error;
 * });
 */
export class PasskeyUnavailableError extends Error {
  override readonly name = "PasskeyUnavailableError";
}

const ES256 = -7;
/** The start of the SubjectPublicKeyInfo of an uncompressed P-256 point; x||y follows (RFC 5480). */
const SPKI_PREFIX = "3059301306072a8648ce3d020106082a8648ce3d03010703420004";

function browserCredentials(): PasskeyCredentials {
  const { navigator } = globalThis as { navigator?: { credentials?: PasskeyCredentials } };
  if (!navigator?.credentials) throw new PasskeyUnavailableError("this browser has no passkeys");
  return navigator.credentials;
}

function randomBytes(length: number): Uint8Array {
  if (!globalThis.crypto?.getRandomValues) {
    throw new PasskeyUnavailableError("crypto.getRandomValues is missing: load a substitute for it first");
  }
  return globalThis.crypto.getRandomValues(new Uint8Array(length));
}

const bytesOf = (value: unknown, what: string): Uint8Array => {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (value instanceof Uint8Array) return value;
  throw new PasskeyUnavailableError(`the browser gave no ${what}`);
};

interface NewCredential {
  rawId: unknown;
  response: { getPublicKey?(): unknown };
}

interface GivenAssertion {
  response: { clientDataJSON: unknown; authenticatorData: unknown; signature: unknown };
}

/**
 * Creates a passkey; the browser asks the person. `userName` is shown beside it. Errors:
 * PasskeyUnavailableError; the browser's own error where the person refuses.
 * @example
 * const options = { rpId: location.hostname, rpName: "My app", userName: "ada@example.com" };
 * const { publicKey, credentialId, rpId } = await createBrowserPasskey(options);
 * localStorage.setItem("passkey", JSON.stringify({ publicKey, credentialId, rpId }));
 */
export async function createBrowserPasskey(options: {
  rpId: string;
  rpName: string;
  userName: string;
  credentials?: PasskeyCredentials;
}): Promise<BrowserPasskey> {
  const credentials = options.credentials ?? browserCredentials();
  const created = (await credentials.create({
    publicKey: {
      // The attestation of a new passkey is not checked: its first use proves it.
      challenge: randomBytes(16),
      rp: { id: options.rpId, name: options.rpName },
      user: { id: randomBytes(16), name: options.userName, displayName: options.userName },
      pubKeyCredParams: [{ type: "public-key", alg: ES256 }],
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      attestation: "none",
    },
  })) as NewCredential | null;
  const spki = bytesToHex(bytesOf(created?.response.getPublicKey?.(), "public key"));
  if (!spki.startsWith(SPKI_PREFIX)) throw new PasskeyUnavailableError("the browser made a key that is not of P-256");
  const { publicKey } = canonicalPublicKey({ algorithm: "ES256", publicKey: spki.slice(SPKI_PREFIX.length) });
  const credentialId = bytesToBase64url(bytesOf(created?.rawId, "credential id"));
  return browserPasskey({ ...options, publicKey, credentialId, credentials });
}

/**
 * Returns a passkey that was created before.
 * @example const deviceKey = browserPasskey(JSON.parse(localStorage.getItem("passkey")!));
 */
export function browserPasskey(known: {
  /** Hex, 64 bytes x||y. */
  publicKey: string;
  credentialId: string;
  rpId: string;
  credentials?: PasskeyCredentials;
}): BrowserPasskey {
  const { publicKey, credentialId, rpId } = known;
  return {
    publicKey,
    algorithm: "ES256",
    credentialId,
    rpId,
    async assert(challenge) {
      const credentials = known.credentials ?? browserCredentials();
      const given = (await credentials.get({
        publicKey: {
          challenge,
          rpId,
          allowCredentials: [{ type: "public-key", id: base64urlToBytes(credentialId) }],
          userVerification: "required",
        },
      })) as GivenAssertion | null;
      return {
        clientDataJSON: bytesOf(given?.response.clientDataJSON, "client data"),
        authenticatorData: bytesOf(given?.response.authenticatorData, "authenticator data"),
        signature: bytesOf(given?.response.signature, "signature"),
      };
    },
  };
}
