import { bytesToHex } from "@countersign/keys";
import type { ChainEvent } from "./resources.ts";

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

/**
 * Returns the keys that events of a transaction added, in the events' order.
 * @example const [added] = addedKeys(result.events);
 */
export function addedKeys(events: readonly ChainEvent[]): AddedKey[] {
  return events
    .filter((event) => event.type === "flow.AccountKeyAdded")
    .map(({ fields }) => {
      const key = fields.publicKey as { publicKey: string[]; signatureAlgorithm: { rawValue: string } };
      return {
        address: (fields.address as string).replace(/^0x/, ""),
        publicKey: bytesToHex(Uint8Array.from(key.publicKey, Number)),
        keyIndex: Number(fields.keyIndex),
        weight: Number(fields.weight),
        hashAlgorithm: Number((fields.hashAlgorithm as { rawValue: string }).rawValue),
        signatureAlgorithm: Number(key.signatureAlgorithm.rawValue),
      };
    });
}

/**
 * Returns the keys that events of a transaction revoked, in the events' order. The event calls the index
 * `publicKey`.
 * @example const indexes = revokedKeys(result.events).map(({ keyIndex }) => keyIndex);
 */
export function revokedKeys(events: readonly ChainEvent[]): Pick<AddedKey, "address" | "keyIndex">[] {
  return events
    .filter((event) => event.type === "flow.AccountKeyRemoved")
    .map(({ fields }) => ({
      address: (fields.address as string).replace(/^0x/, ""),
      keyIndex: Number(fields.publicKey),
    }));
}
