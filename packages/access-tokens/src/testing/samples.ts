import type { KeyObject } from "node:crypto";
import type { PublicKey } from "@countersign/keys";
import { TokenStateEntries, TokenStateSubjects, WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import { pack, toKeyId, uuidToHex } from "../packed-entry.ts";

export const accountId = "019a0000-0000-7000-8000-000000000001";
export const sessionId = "019a0000-0000-7000-8000-000000000002";
export const sessionKey = { alg: "ES256", key: "ab".repeat(64) };
export const accountKey = { alg: "ES256K", key: "cd".repeat(64) };

/** An entry of the token state: one of the first three. */
export interface Entry {
  readonly endedSessionId?: string;
  readonly blockedKey?: { readonly accountId: string; readonly publicKey: PublicKey };
  readonly frozenAccountId?: string;
  readonly active: boolean;
  readonly until: Date | undefined;
}

/** Returns the entries with an id of this kind. A session or a key that is lifted has ended to matter. */
function toSubjects(entries: readonly Entry[], idOf: (entry: Entry) => string | undefined) {
  const timeOf = ({ active, until }: Entry) => until?.getTime() ?? (active ? Number.POSITIVE_INFINITY : 0);
  const found = entries.flatMap((entry) => {
    const id = idOf(entry);
    return id === undefined ? [] : { id: uuidToHex(id), time: timeOf(entry) };
  });
  return found.length === 0 ? undefined : TokenStateSubjects.create({ packed: pack(found) });
}

const toEntries = (entries: readonly Entry[]): TokenStateEntries => ({
  endedSessions: toSubjects(entries, ({ endedSessionId }) => endedSessionId),
  blockedKeys: toSubjects(entries, ({ blockedKey: key }) => key && toKeyId(key.accountId, key.publicKey)),
  frozenAccounts: toSubjects(entries, ({ active, frozenAccountId }) => (active ? frozenAccountId : undefined)),
  unfrozenAccounts: toSubjects(entries, ({ active, frozenAccountId }) => (active ? undefined : frozenAccountId)),
});

export type MessageWithEntries = Partial<Omit<WatchResponse, "entries">> & { entries?: Entry[] };

/** Returns a complete message of auth's stream of token states. */
export const watchMessage = ({ entries = [], ...message }: MessageWithEntries = {}): WatchResponse => ({
  ...WatchResponse.create({ cursor: "c", complete: true, ...message }),
  entries: Buffer.from(TokenStateEntries.encode(toEntries(entries)).finish()),
});

export const keyMessage = (kid: string, key: KeyObject) => ({
  kid,
  jwkJson: JSON.stringify(key.export({ format: "jwk" })),
});

export const entry = (value: Partial<Entry>): Entry => ({ active: true, until: undefined, ...value });
