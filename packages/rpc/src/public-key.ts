import { AppError } from "@countersign/core";
import {
  type KeyAlgorithm as KeyAlgorithmName,
  type PublicKey,
  PublicKeyError,
  parsePublicKey,
  publicKeyLength,
} from "@countersign/keys";
import { KeyAlgorithm, type PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";

const toProto = {
  ES256: KeyAlgorithm.KEY_ALGORITHM_ES256,
  ES256K: KeyAlgorithm.KEY_ALGORITHM_ES256K,
  EdDSA: KeyAlgorithm.KEY_ALGORITHM_EDDSA,
} as const;

const fromProto = new Map<number, KeyAlgorithmName>(
  Object.entries(toProto).map(([name, value]) => [value, name as KeyAlgorithmName]),
);

/** Returns the common.v1.PublicKey of a key. */
export function publicKeyToProto(key: PublicKey): ProtoPublicKey {
  return { algorithm: toProto[key.algorithm], bytes: Buffer.from(key.publicKey, "hex") };
}

/** Returns the key of a message. Errors: InvalidPublicKey that names the field `pointer`. */
export function publicKeyFromProto(key: ProtoPublicKey | undefined, pointer = "/publicKey"): PublicKey {
  const algorithm = key === undefined ? undefined : fromProto.get(key.algorithm);
  if (key === undefined || algorithm === undefined || key.bytes.length !== publicKeyLength(algorithm)) {
    throw new AppError("InvalidPublicKey", { fields: [{ pointer, detail: "not a public key in canonical form" }] });
  }
  return { algorithm, publicKey: Buffer.from(key.bytes).toString("hex") };
}

/** Returns the key of a message, which is on its curve. Errors: InvalidPublicKey that names the field. */
export function validPublicKeyFromProto(key: ProtoPublicKey | undefined, pointer: string): PublicKey {
  const { publicKey, algorithm } = publicKeyFromProto(key, pointer);
  try {
    return parsePublicKey(publicKey, algorithm);
  } catch (error) {
    if (!(error instanceof PublicKeyError)) throw error;
    throw new AppError("InvalidPublicKey", { fields: [{ pointer, detail: error.message }], cause: error });
  }
}
