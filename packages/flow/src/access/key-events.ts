import { bytesToHex } from "@countersign/keys";
import type { ChainEvent } from "./resources.ts";
import { address, array, object, smallNumber, string } from "./wire.ts";

/** The key of a `flow.AccountKeyAdded` event. */
export interface AddedKey {
  /** 16 hex digits. */
  readonly address: string;
  /** 128 hex digits. */
  readonly publicKey: string;
  /** The key's index in its account. */
  readonly keyIndex: number;
  /** 1000 together are needed to sign. */
  readonly weight: number;
  /** Raw value: see `HASH_ALGORITHM`. */
  readonly hashAlgorithm: number;
  /** Raw value of Cadence's SignatureAlgorithm: 1 is P-256, 2 is secp256k1. */
  readonly signatureAlgorithm: number;
}

function weightOf(value: unknown): number {
  if (!/^\d{1,12}\.\d{8}$/.test(string(value, "weight"))) throw new TypeError("weight is no UFix64");
  return Number(value);
}

/**
 * Returns the keys that events of a transaction added, in the events' order. Throws TypeError for another
 * shape.
 * @example const [added] = addedKeys(result.events);
 */
export function addedKeys(events: readonly ChainEvent[]): AddedKey[] {
  return events
    .filter((event) => event.type === "flow.AccountKeyAdded")
    .map(({ fields }) => {
      const key = object(fields.publicKey, "publicKey");
      return {
        address: address(fields.address, "address"),
        publicKey: bytesToHex(
          Uint8Array.from(array(key.publicKey, "publicKey"), (byte) => smallNumber(byte, "publicKey")),
        ),
        keyIndex: smallNumber(fields.keyIndex, "keyIndex"),
        weight: weightOf(fields.weight),
        hashAlgorithm: smallNumber(object(fields.hashAlgorithm, "hashAlgorithm").rawValue, "hashAlgorithm"),
        signatureAlgorithm: smallNumber(
          object(key.signatureAlgorithm, "signatureAlgorithm").rawValue,
          "signatureAlgorithm",
        ),
      };
    });
}

/**
 * Returns the keys that events of a transaction revoked, in the events' order. The event calls the index
 * `publicKey`. Throws TypeError for another shape.
 * @example const indexes = revokedKeys(result.events).map(({ keyIndex }) => keyIndex);
 */
export function revokedKeys(events: readonly ChainEvent[]): Pick<AddedKey, "address" | "keyIndex">[] {
  return events
    .filter((event) => event.type === "flow.AccountKeyRemoved")
    .map(({ fields }) => ({
      address: address(fields.address, "address"),
      keyIndex: smallNumber(fields.publicKey, "publicKey"),
    }));
}
