import { type Queries, sql } from "@countersign/postgres";
import { expect, it } from "vitest";
import type { Session } from "../domain/sessions/session.ts";
import { now, postgres, prisma, replacedOf, someSession } from "../testing/store-fixture.ts";
import { beginSessionIn } from "./begin-sessions.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";

const again = ({ accountId, deviceKey, accountKey }: Session): Session =>
  someSession({ accountId, deviceKey, accountKey });
const begin = (session: Session) => postgresSessionStore(prisma, postgres).begin(session, "");
const rowOf = ({ id }: Session) => prisma.session.findUnique({ where: { id } });
const hasEntry = async ({ id }: Session) => (await prisma.tokenStateEntry.count({ where: { subject: id } })) > 0;

/** Begins a session, changes its row, and begins the next one of its device before the change commits. */
async function replaceDuring(first: Session, change: (tx: Queries) => Promise<unknown>): Promise<Session> {
  const next = again(first);
  await begin(first);
  const begun = await postgres.transaction(async (tx) => {
    await change(tx);
    const begins = begin(next);
    for (let waiting = false; !waiting; ) {
      const rows = await postgres.query(sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);
      waiting = rows.length > 0;
    }
    // In an object: the transaction would wait for a promise.
    return { begins };
  });
  await begun.begins;
  return next;
}

const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
/** Its last access token has expired. */
const longUnused = () => someSession({ createdAt: minutesAgo(99), lastUsedAt: minutesAgo(99) });

it("a session that is refreshed at the same time is replaced, and services learn that it has ended", async () => {
  const first = longUnused();
  const next = await replaceDuring(first, (tx) =>
    tx.execute(sql`UPDATE session SET last_used_at = ${now} WHERE id = ${first.id}::uuid`),
  );
  expect(await rowOf(first)).toMatchObject({ endedCause: "replaced", lastUsedAt: now });
  expect(await rowOf(next)).toMatchObject({ endedAt: null });
  expect(await replacedOf(first.accountId)).toEqual([first.id]);
  expect(await hasEntry(first)).toBe(true);
});

it("a session that is ended at the same time keeps its cause, and is replaced by none", async () => {
  const first = someSession();
  const next = await replaceDuring(first, (tx) =>
    tx.execute(sql`UPDATE session SET ended_at = ${now}, ended_cause = 'signed-out' WHERE id = ${first.id}::uuid`),
  );
  expect(await rowOf(first)).toMatchObject({ endedCause: "signed-out", endedAt: now });
  expect(await rowOf(next)).toMatchObject({ endedAt: null });
  expect(await replacedOf(first.accountId)).toEqual([]);
});

it("a session that has expired is replaced without a word to the services", async () => {
  const first = longUnused();
  const expired = { ...first, expiresAt: minutesAgo(9), refreshExpiresAt: minutesAgo(9) };
  await begin(expired);
  await begin(again(expired));
  expect(await rowOf(expired)).toMatchObject({ endedCause: "replaced" });
  expect(await hasEntry(expired)).toBe(false);
});

it("a session does not begin a second time in the place of its own", async () => {
  const session = someSession();
  const beginIt = () => postgres.transaction((tx) => beginSessionIn(tx, session, ""));
  await beginIt();
  await expect(beginIt()).rejects.toThrow("session_pkey");
  expect(await rowOf(session)).toMatchObject({ endedAt: null });
});
