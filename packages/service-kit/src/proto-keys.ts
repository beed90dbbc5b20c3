import { AppError } from "@countersign/errors";
import { KeyAlgorithm, type PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";

export type KeyAlgorithmName = "ES256" | "ES256K" | "EdDSA";

/** A public key in its canonical form: hex is 128 lower-case digits x||y, or 64 for Ed25519. */
export interface CanonicalPublicKey {
  algorithm: KeyAlgorithmName;
  publicKey: string;
}

const toProto = {
  ES256: KeyAlgorithm.KEY_ALGORITHM_ES256,
  ES256K: KeyAlgorithm.KEY_ALGORITHM_ES256K,
  EdDSA: KeyAlgorithm.KEY_ALGORITHM_EDDSA,
} as const;

const fromProto = new Map<number, KeyAlgorithmName>(
  Object.entries(toProto).map(([name, value]) => [value, name as KeyAlgorithmName]),
);

/** Bytes of a key of this algorithm. */
export function publicKeyLength(algorithm: KeyAlgorithmName): 32 | 64 {
  return algorithm === "EdDSA" ? 32 : 64;
}

/** Whether a value of unknown origin has the canonical form; says nothing about the point being on its curve. */
export function isCanonicalPublicKey(value: { algorithm: unknown; publicKey: unknown }): value is CanonicalPublicKey {
  const { algorithm, publicKey } = value;
  if (algorithm !== "ES256" && algorithm !== "ES256K" && algorithm !== "EdDSA") return false;
  return (
    typeof publicKey === "string" &&
    publicKey.length === 2 * publicKeyLength(algorithm) &&
    /^[0-9a-f]+$/.test(publicKey)
  );
}

/** common.v1.PublicKey of a canonical key. */
export function publicKeyToProto(key: CanonicalPublicKey): ProtoPublicKey {
  return { algorithm: toProto[key.algorithm], bytes: Buffer.from(key.publicKey, "hex") };
}

/** The canonical key of a message. Errors: InvalidPublicKey with `pointer` as the field at fault. */
export function publicKeyFromProto(key: ProtoPublicKey | undefined, pointer = "/publicKey"): CanonicalPublicKey {
  const algorithm = key === undefined ? undefined : fromProto.get(key.algorithm);
  if (key === undefined || algorithm === undefined || key.bytes.length !== publicKeyLength(algorithm)) {
    throw new AppError("InvalidPublicKey", { fields: [{ pointer, detail: "not a public key in canonical form" }] });
  }
  return { algorithm, publicKey: Buffer.from(key.bytes).toString("hex") };
}
