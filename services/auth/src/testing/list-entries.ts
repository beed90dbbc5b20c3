import { KEY_ALGORITHMS, type PublicKey, publicKeyLength } from "@countersign/keys";
import { TokenStateEntries, type TokenStateSubjects } from "@countersign/proto/auth/v1/token_state.ts";

/** An entry, with one of the first three. */
interface Entry {
  readonly endedSessionId?: string;
  readonly frozenAccountId?: string;
  readonly blockedKey?: { readonly accountId: string; readonly publicKey: PublicKey };
  readonly active: boolean;
  readonly until: Date | undefined;
}

const UUID_BYTES = 16;

const toUuid = (id: Buffer): string =>
  id.toString("hex", 0, UUID_BYTES).replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

function toBlockedKey(id: Buffer) {
  const algorithm = KEY_ALGORITHMS[id[UUID_BYTES]! - 1]!;
  const publicKey = id.toString("hex", UUID_BYTES + 1, UUID_BYTES + 1 + publicKeyLength(algorithm));
  return { accountId: toUuid(id), publicKey: { algorithm, publicKey } };
}

/** Returns the entries of a message one by one. */
export function listEntries(encoded: Buffer): Entry[] {
  const entries = TokenStateEntries.decode(encoded);
  const list = (subjects: TokenStateSubjects | undefined, toSubject: (id: Buffer) => Partial<Entry>, isKey = false) => {
    const { packed } = subjects ?? { packed: Buffer.alloc(0) };
    const idBytes = isKey ? UUID_BYTES + 1 + 64 : UUID_BYTES;
    return Array.from({ length: packed.length / (idBytes + 8) }, (_, i) => {
      const id = packed.subarray(i * (idBytes + 8));
      const until = id.readDoubleBE(idBytes);
      return {
        active: true,
        ...toSubject(id),
        until: until === Number.POSITIVE_INFINITY ? undefined : new Date(until),
      };
    });
  };
  return [
    ...list(entries.endedSessions, (id) => ({ endedSessionId: toUuid(id) })),
    ...list(entries.blockedKeys, (id) => ({ blockedKey: toBlockedKey(id) }), true),
    ...list(entries.frozenAccounts, (id) => ({ frozenAccountId: toUuid(id) })),
    ...list(entries.unfrozenAccounts, (id) => ({ frozenAccountId: toUuid(id), active: false })),
  ];
}
