// The entries as text, for as long as processes of the version before run beside this one: they neither send
// nor read packed ones.

import type { KeyAlgorithm } from "@countersign/keys";
import type { TokenStateEntries, TokenStateSubjects } from "@countersign/proto/auth/v1/token_state.ts";
import { fromKeyId, KEY_ID_BYTES, pack, toKeyId, UUID_BYTES, unpack, uuidToHex } from "./packed-entry.ts";

function idFromText(text: string): string {
  const [uuid = "", algorithm, publicKey] = text.split("/");
  if (publicKey === undefined) return uuidToHex(uuid);
  return toKeyId(uuid, { algorithm: algorithm as KeyAlgorithm, publicKey });
}

function idToText(id: string): string {
  const uuid = id.slice(0, 2 * UUID_BYTES).replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  const key = id.length === 2 * KEY_ID_BYTES ? fromKeyId(id) : undefined;
  return key ? `${uuid}/${key.algorithm}/${key.publicKey}` : uuid;
}

/** Returns packed entries, also of those that came as text. */
export function packedOf(subjects: TokenStateSubjects | undefined): Buffer {
  if (!subjects?.ids) return subjects?.packed ?? Buffer.alloc(0);
  return pack(subjects.ids.split("\n").map((text, i) => ({ id: idFromText(text), time: subjects.until[i]! })));
}

/** Returns packed entries as text. */
export function entriesAsText(entries: TokenStateEntries): TokenStateEntries {
  const asText = (subjects: TokenStateSubjects | undefined, idBytes = UUID_BYTES): TokenStateSubjects | undefined => {
    if (!subjects) return undefined;
    const unpacked = unpack(subjects.packed, idBytes);
    const ids = unpacked.map(({ id }) => idToText(id)).join("\n");
    return { ids, until: unpacked.map(({ time }) => time), packed: Buffer.alloc(0) };
  };
  return {
    endedSessions: asText(entries.endedSessions),
    blockedKeys: asText(entries.blockedKeys, KEY_ID_BYTES),
    frozenAccounts: asText(entries.frozenAccounts),
    unfrozenAccounts: asText(entries.unfrozenAccounts),
  };
}
