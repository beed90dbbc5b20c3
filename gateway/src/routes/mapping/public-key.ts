import { AppError } from "@countersign/core";
import type { UserKeyInput } from "@countersign/http-api/requests.ts";
import { type KeyAlgorithm, PublicKeyError, parsePublicKey } from "@countersign/keys";
import type { PublicKey, UserKey } from "@countersign/proto/common/v1/types.ts";
import { publicKeyFromProto, publicKeyToProto, USER_KEY_TYPES } from "@countersign/rpc";
import type { z } from "zod";

/**
 * Returns the canonical form of a public key from a body: hex of 64, 65, 33 or 32 bytes, P-256 unless
 * `algorithm` says otherwise. Errors: InvalidPublicKey.
 */
export function fromPublicKey(hex: string, algorithm: KeyAlgorithm | undefined, pointer: string): PublicKey {
  try {
    return publicKeyToProto(parsePublicKey(hex, algorithm));
  } catch (error) {
    if (!(error instanceof PublicKeyError)) throw error;
    throw new AppError("InvalidPublicKey", { detail: error.message, fields: [{ pointer, detail: error.message }] });
  }
}

/**
 * Returns the same as `fromPublicKey`; without `algorithm`, for the first of `guesses` whose curve has the
 * point.
 * Errors: InvalidPublicKey, of the first guess.
 */
function guessPublicKey(
  hex: string,
  algorithm: KeyAlgorithm | undefined,
  guesses: readonly KeyAlgorithm[],
  pointer: string,
): PublicKey {
  let first: unknown;
  for (const guess of algorithm === undefined ? guesses : [algorithm]) {
    try {
      return fromPublicKey(hex, guess, pointer);
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}

/** Returns the bytes of a registered key in a path, which may be named without its algorithm. */
export const fromRegisteredKey = (hex: string, algorithm: KeyAlgorithm | undefined): Buffer =>
  guessPublicKey(hex, algorithm, ["ES256", "ES256K"], "/publicKey").bytes;

/**
 * Returns a body's user key as common.v1.UserKey. A device without a key of its own is identified by the
 * account key.
 * Errors: InvalidPublicKey.
 */
export function fromUserKey(body: z.output<typeof UserKeyInput>): UserKey {
  const { publicKey, algorithm, ...attributes } = body.device;
  const accountKey = fromPublicKey(body.publicKey, body.algorithm, "/userKey/publicKey");
  return {
    type: USER_KEY_TYPES[body.type],
    accountKey,
    deviceKey: publicKey
      ? guessPublicKey(publicKey, algorithm, [body.algorithm ?? "ES256", "ES256"], "/userKey/device/publicKey")
      : accountKey,
    device: attributes,
  };
}

/** Returns a key's hex and the JOSE name of its algorithm. Throws where the service sent no key. */
export function toPublicKey(key: PublicKey | undefined): { publicKey: string; algorithm: KeyAlgorithm } {
  if (key === undefined) throw new Error("the service sent no public key");
  return publicKeyFromProto(key);
}
