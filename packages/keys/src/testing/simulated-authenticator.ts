import { createHash, sign } from "node:crypto";
import { bytesToBase64url } from "../base64url.ts";
import { generateKeyPair, type KeyPair } from "../node.ts";
import type { Assertion } from "../passkey/assertion.ts";
import type { RelyingParty } from "../passkey/relying-party.ts";

/** The relying party of unit tests. */
export const TEST_RELYING_PARTY: RelyingParty = {
  rpId: "wallet.example.com",
  origins: ["https://wallet.example.com", `android:apk-key-hash:${"A".repeat(43)}`],
};

/** User present, user verified, eligible for backup, backed up: what a phone's passkey says. */
export const USUAL_FLAGS = 0x1d;

/** The content of an assertion; members that are left out are correct. */
export interface Said {
  readonly rpId?: string;
  readonly flags?: number;
  readonly signCount?: number;
  /** Extension outputs behind the fixed part. */
  readonly extensions?: Uint8Array;
  /** Members of clientDataJSON that replace or follow the usual ones. */
  readonly client?: Readonly<Record<string, unknown>>;
  /** clientDataJSON itself. */
  readonly clientDataJSON?: Uint8Array;
}

export const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

export function authenticatorDataOf({ rpId, flags, signCount, extensions }: Said = {}): Buffer {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(signCount ?? 0);
  const hash = sha256(Buffer.from(rpId ?? TEST_RELYING_PARTY.rpId));
  return Buffer.concat([hash, Buffer.of(flags ?? USUAL_FLAGS), counter, extensions ?? Buffer.alloc(0)]);
}

export function clientDataOf(challenge: Uint8Array, said: Said = {}): Buffer {
  const usual = {
    type: "webauthn.get",
    challenge: bytesToBase64url(challenge),
    origin: TEST_RELYING_PARTY.origins[0],
    crossOrigin: false,
  };
  return Buffer.from(said.clientDataJSON ?? JSON.stringify({ ...usual, ...said.client }));
}

/** Creates a passkey in memory, whose statements a test chooses. End-to-end tests use real ones. */
export function simulatedPasskey(pair: KeyPair = generateKeyPair()) {
  return {
    ...pair,
    assert(challenge: Uint8Array, said: Said = {}): Assertion {
      const [authenticatorData, clientDataJSON] = [authenticatorDataOf(said), clientDataOf(challenge, said)];
      const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)]);
      const signature = sign("sha256", signed, { key: pair.privateKey, dsaEncoding: "der" });
      return { clientDataJSON, authenticatorData, signature };
    },
  };
}
