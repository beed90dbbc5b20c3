import { AppError } from "@countersign/core";
import {
  KEY_ALGORITHMS,
  type KeyAlgorithm,
  PUBLIC_KEY_LENGTHS,
  PublicKeyError,
  parsePublicKey,
} from "@countersign/keys";
import type { PublicKey } from "@countersign/proto/common/v1/types.ts";
import { publicKeyFromProto, publicKeyToProto } from "@countersign/rpc";
import { z } from "zod";
import { text } from "../../http/validation.ts";

/** A public key as text; what it means is `fromPublicKey`'s to say, with an error of its own. */
export const publicKeySchema = text(256, `Too long: a public key is ${PUBLIC_KEY_LENGTHS}`).min(1);

export const algorithmSchema = z.enum(KEY_ALGORITHMS);

/**
 * The canonical form of a public key from a body: hex of 64, 65, 33 or 32 bytes, P-256 unless `algorithm` says otherwise.
 * Errors: InvalidPublicKey.
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
 * The same where the input need not name the algorithm: the first of `guesses` whose curve has the point.
 * Errors: InvalidPublicKey, of the last guess.
 */
export function guessPublicKey(
  hex: string,
  algorithm: KeyAlgorithm | undefined,
  guesses: readonly [KeyAlgorithm, ...KeyAlgorithm[]],
  pointer: string,
): PublicKey {
  if (algorithm !== undefined) return fromPublicKey(hex, algorithm, pointer);
  const [guess, next, ...others] = guesses;
  try {
    return fromPublicKey(hex, guess, pointer);
  } catch (error) {
    if (next === undefined) throw error;
    return guessPublicKey(hex, undefined, [next, ...others], pointer);
  }
}

/** The JOSE name of a key's algorithm; "" for none. */
export function toAlgorithm(key: PublicKey | undefined): KeyAlgorithm | "" {
  return key === undefined ? "" : publicKeyFromProto(key).algorithm;
}
