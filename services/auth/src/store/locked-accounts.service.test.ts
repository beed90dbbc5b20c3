import { uuidv4 } from "@countersign/core";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Session } from "../domain/sessions/session.ts";
import { database, now, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { lockAccess } from "./begin-sessions.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";

/** A replica's connections: of these, two wait for locks. */
let main: Postgres;
let waiting: Postgres;
beforeAll(() => {
  main = openPostgres(database.url, { connections: 3 });
  waiting = openPostgres(database.url, { connections: 2 });
});
afterAll(() => Promise.all([main.close(), waiting.close()]));

const begun = async (count: number): Promise<Session[]> => {
  const sessions = times(count, () => someSession());
  const store = postgresSessionStore(prisma, postgres);
  await Promise.all(sessions.map((session) => store.begin(session, "")));
  return sessions;
};
const refresh = (on: Postgres, session: Session) =>
  postgresSessionStore(prisma, on, waiting).update(session, (next) => ({ next, result: "refreshed" }), now, "");

/** Runs work in a transaction of another replica, which does not end before `release` is called. */
async function held(work: (on: Postgres) => Promise<unknown>) {
  const isHeld = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const pausing: Postgres = {
    ...postgres,
    transaction: (within, timeoutMs) =>
      postgres.transaction(async (tx) => {
        const result = await within(tx);
        isHeld.resolve();
        await released.promise;
        return result;
      }, timeoutMs),
  };
  const done = work(pausing);
  await isHeld.promise;
  return {
    release: () => {
      released.resolve();
      return done;
    },
  };
}

it("a sign-in waits for a refresh of its device's session, and others in its batch do not", async () => {
  const [refreshed, other] = (await begun(2)) as [Session, Session];
  const store = postgresChallengeStore(main, waiting);
  const signIn = async ({ accountId, deviceKey, accountKey, app, authTime }: Session) => {
    const data = uuidv4().replaceAll("-", "");
    const challenge = { accountId, app, signer: accountKey, authTime, data, key: undefined, chainName: "c" };
    await store.insert({ ...challenge, type: "device-key", expiresAt: new Date(now.getTime() + 1_000) });
    return () => store.succeed(data, someSession({ accountId, deviceKey, accountKey }), "");
  };
  const answers = await Promise.all([refreshed, other].map(signIn));
  const replica = await held((on) => refresh(on, refreshed));
  const [first, second] = answers.map((answer) => answer());
  expect(await second).toBe(true);
  expect(await replica.release()).toBe("refreshed");
  expect(await first).toBe(true);
});

it("work that waits for locked accounts leaves connections to others", async () => {
  const [free, ...locked] = (await begun(11)) as [Session, ...Session[]];
  const replica = await held((on) =>
    on.transaction(async (tx) => {
      for (const { accountId } of locked) await lockAccess(tx, accountId);
    }),
  );
  const phones = locked.flatMap((session) => [
    refresh(main, session),
    postgresSessionStore(prisma, main, waiting).begin(someSession({ accountId: session.accountId }), ""),
  ]);
  // Those of locked accounts have been left out by the time that it is answered.
  expect(await refresh(main, free)).toBe("refreshed");
  expect(await refresh(main, free)).toBe("refreshed");
  expect(waiting.connections().waiting).toBeGreaterThan(0);
  await replica.release();
  await Promise.all(phones);
});
