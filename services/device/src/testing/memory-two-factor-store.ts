import { samePublicKey } from "@countersign/keys";
import type { TwoFactorStore } from "../domain/two-factor/ports.ts";
import type { ShownMessage, TwoFactor } from "../domain/two-factor/two-factor.ts";
import { guardHolds, type TwoFactorEventStatus } from "../domain/two-factor/two-factor-state.ts";

export interface MemoryTwoFactorStore extends TwoFactorStore {
  rows: Map<string, TwoFactor>;
  events: { id: string; status: TwoFactorEventStatus }[];
}

/**
 * Requests for approval in memory, for tests of commands: each step is taken in one turn of the event loop.
 */
export function memoryTwoFactorStore(): MemoryTwoFactorStore {
  const rows = new Map<string, TwoFactor>();
  const shown = new Map<string, ShownMessage[]>();
  const reopened = new Map<string, Date>();
  const events: MemoryTwoFactorStore["events"] = [];
  const messagesOf = (id: string) => shown.get(id) ?? [];
  const ofAccount = (accountId: string) => [...rows.values()].filter((row) => row.accountId === accountId);
  const show = (row: TwoFactor) => shown.set(row.id, [...messagesOf(row.id), row]);
  const turns = new Map<string, Promise<unknown>>();
  /** Runs the work of one account one after the other, as the account's lock in Postgres does. */
  const inTurn = <T>(accountId: string, work: () => Promise<T>): Promise<T> => {
    const turn = (turns.get(accountId) ?? Promise.resolve()).then(work);
    turns.set(
      accountId,
      turn.catch(() => undefined),
    );
    return turn;
  };

  return {
    rows,
    events,
    withAccount: (accountId, work) =>
      inTurn(accountId, () =>
        work({
          has: async (id) => rows.get(id)?.accountId === accountId,
          pendingUntil: async (now) =>
            ofAccount(accountId)
              .filter((row) => row.status === "pending" && (row.expiresAt > now || row.attemptId !== null))
              .map(({ expiresAt }) => expiresAt)
              .sort((a, b) => a.getTime() - b.getTime()),
          claimsOf: async (keys) =>
            ofAccount(accountId)
              .filter(({ status }) => ["pending", "approved", "finished"].includes(status))
              .map(({ userKey }) => userKey)
              .filter(({ accountKey, deviceKey }) =>
                [keys.accountKey, keys.deviceKey].some(
                  (key) => samePublicKey(key, accountKey) || samePublicKey(key, deviceKey),
                ),
              ),
          countRejectedAfter: async (time) =>
            ofAccount(accountId).filter(
              ({ rejectedAt, rejectedInRecovery }) => rejectedAt !== null && rejectedAt > time && !rejectedInRecovery,
            ).length,
          reopenedAt: async () => reopened.get(accountId) ?? null,
          reopen: async (now) => void reopened.set(accountId, now),
          insert: async (request) => {
            if (rows.has(request.id)) return false;
            rows.set(request.id, request);
            show(request);
            events.push({ id: request.id, status: request.status });
            return true;
          },
        }),
      ),
    find: async (accountId, id) =>
      ofAccount(accountId).find((row) => row.id === id || messagesOf(row.id).some(({ messageId }) => messageId === id)),
    list: async (accountId, { status, limit }) =>
      ofAccount(accountId)
        .filter((row) => status === undefined || row.status === status)
        .sort((a, b) => b.requestedAt.getTime() - a.requestedAt.getTime())
        .slice(0, limit),
    firstMessage: async (id) => messagesOf(id)[0]!.message,
    earlierMessages: async ({ id, messageId }, limit) =>
      messagesOf(id)
        .filter((message) => message.messageId !== messageId)
        .reverse()
        .slice(0, limit),
    take: async (id, { when, set, emit }) => {
      const row = rows.get(id);
      if (!row || !guardHolds(row, when)) return undefined;
      const changed: TwoFactor = { ...row, ...set };
      rows.set(id, changed);
      if (set.messageId !== undefined) show(changed);
      if (emit !== undefined) events.push({ id, status: emit });
      return changed;
    },
    countWrongApproval: async (id, limit) => {
      const row = rows.get(id);
      if (!row || row.wrongApprovals >= limit) return false;
      rows.set(id, { ...row, wrongApprovals: row.wrongApprovals + 1 });
      return true;
    },
    due: async (now, limit) =>
      [...rows.values()]
        .filter((row) => guardHolds(row, { status: "pending", attemptId: null, dueBy: now }))
        .slice(0, limit),
    leaseUnconfirmed: async (now, until, limit) => {
      const unconfirmed = [...rows.values()]
        .filter(({ reconcileAt }) => reconcileAt !== null && reconcileAt <= now)
        .slice(0, limit);
      for (const row of unconfirmed) rows.set(row.id, { ...row, reconcileAt: until });
      return unconfirmed.map(({ id }) => rows.get(id)!);
    },
    forget: async (endedBefore) => {
      for (const row of rows.values()) {
        if (row.status !== "pending" && row.reconcileAt === null && row.expiresAt < endedBefore) rows.delete(row.id);
      }
      return false;
    },
  };
}
