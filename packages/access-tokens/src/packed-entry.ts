// An entry of auth.v1.TokenStateSubjects, packed: an id, then a time.

import { KEY_ALGORITHMS, type PublicKey, publicKeyLength } from "@countersign/keys";

/** An entry, unpacked. */
export interface Entry {
  /** The whole id in hex. */
  readonly id: string;
  /** Milliseconds since 1970, or Infinity. */
  readonly time: number;
}

/** The id of a session or an account. */
export const UUID_BYTES = 16;
/** A blocked key's id: account, algorithm, key. */
export const KEY_ID_BYTES = UUID_BYTES + 1 + 64;
export const TIME_BYTES = 8;

const ALGORITHM_AT = 2 * UUID_BYTES;
const KEY_AT = ALGORITHM_AT + 2;

/** Returns a UUID as an id has it. */
export const uuidToHex = (uuid: string): string => uuid.replaceAll("-", "");

/** Returns the id of an account's key. common.v1.KeyAlgorithm counts the algorithms from 1. */
export function toKeyId(accountId: string, { algorithm, publicKey }: PublicKey): string {
  const number = String(KEY_ALGORITHMS.indexOf(algorithm) + 1).padStart(2, "0");
  return `${uuidToHex(accountId)}${number}${publicKey}`.padEnd(2 * KEY_ID_BYTES, "0");
}

/** Returns the key of an id; undefined where this version does not know its algorithm. */
export function fromKeyId(id: string): PublicKey | undefined {
  const algorithm = KEY_ALGORITHMS[Number.parseInt(id.slice(ALGORITHM_AT, KEY_AT), 16) - 1];
  return algorithm && { algorithm, publicKey: id.slice(KEY_AT, KEY_AT + 2 * publicKeyLength(algorithm)) };
}

export function pack(entries: readonly Entry[]): Buffer {
  return Buffer.concat(
    entries.flatMap(({ id, time }) => {
      const until = Buffer.alloc(TIME_BYTES);
      until.writeDoubleBE(time);
      return [Buffer.from(id, "hex"), until];
    }),
  );
}

export function unpack(packed: Buffer, idBytes: number): Entry[] {
  const entryBytes = idBytes + TIME_BYTES;
  return Array.from({ length: packed.length / entryBytes }, (_, i) => {
    const end = i * entryBytes + idBytes;
    return { id: packed.toString("hex", i * entryBytes, end), time: packed.readDoubleBE(end) };
  });
}
