import { entriesAsText } from "@countersign/access-tokens";
import type { PublicKey } from "@countersign/keys";
import { TokenStateEntries, type TokenStateSubjects } from "@countersign/proto/auth/v1/token_state.ts";

/** An entry, with one of the first three. */
interface Entry {
  readonly endedSessionId?: string;
  readonly frozenAccountId?: string;
  readonly blockedKey?: { readonly accountId: string; readonly publicKey: PublicKey };
  readonly active: boolean;
  readonly until: Date | undefined;
}

function toBlockedKey(subject: string) {
  const [accountId = "", algorithm, publicKey] = subject.split("/");
  return { accountId, publicKey: { algorithm, publicKey } as PublicKey };
}

/** Returns the entries of a message one by one. */
export function listEntries(encoded: Buffer): Entry[] {
  const entries = entriesAsText(TokenStateEntries.decode(encoded));
  const list = (subjects: TokenStateSubjects | undefined, active: boolean, toSubject: (id: string) => Partial<Entry>) =>
    (subjects?.ids.split("\n") ?? []).map((id, i) => {
      const until = subjects!.until[i]!;
      return { ...toSubject(id), active, until: until === Number.POSITIVE_INFINITY ? undefined : new Date(until) };
    });
  return [
    ...list(entries.endedSessions, true, (endedSessionId) => ({ endedSessionId })),
    ...list(entries.blockedKeys, true, (id) => ({ blockedKey: toBlockedKey(id) })),
    ...list(entries.frozenAccounts, true, (frozenAccountId) => ({ frozenAccountId })),
    ...list(entries.unfrozenAccounts, false, (frozenAccountId) => ({ frozenAccountId })),
  ];
}
