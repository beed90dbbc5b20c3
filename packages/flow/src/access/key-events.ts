import { bytesToHex } from "@countersign/keys";
import type { ChainEvent } from "./resources.ts";

/** The key of a `flow.AccountKeyAdded` event. */
export interface AddedKey {
  /** 16 hex digits. */
  readonly address: string;
  /** 128 hex digits. */
  readonly publicKey: string;
  readonly keyIndex: number;
  readonly weight: number;
  /** Raw values; see account-model.ts. */
  readonly hashAlgorithm: number;
  readonly signatureAlgorithm: number;
}

/** Returns the keys that events of a transaction added, in the events' order. */
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
 */
export function revokedKeys(events: readonly ChainEvent[]): Pick<AddedKey, "address" | "keyIndex">[] {
  return events
    .filter((event) => event.type === "flow.AccountKeyRemoved")
    .map(({ fields }) => ({
      address: (fields.address as string).replace(/^0x/, ""),
      keyIndex: Number(fields.publicKey),
    }));
}
