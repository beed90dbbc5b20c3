import { newTrace, parseTraceParent, uuidv4 } from "@countersign/core";
import { withTraces } from "@countersign/local-stack/testing/with-traces.ts";
import { openPostgres, type Postgres, sql } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Session } from "../domain/sessions/session.ts";
import type { Challenge, PasskeyCounter } from "../domain/sign-in/ports.ts";
import { holdAccount } from "../testing/hold-account.ts";
import { database, eventsOf, now, postgres, prisma, replacedOf, someSession, times } from "../testing/store-fixture.ts";
import { beginSessionIn, lockAccess } from "./begin-sessions.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";

const refused = (reason: string) => expect.objectContaining({ reason });

/** Two replicas of auth, each with its own connections. */
let other: Postgres;
let replicas: ReturnType<typeof postgresChallengeStore>[];
beforeAll(() => {
  other = openPostgres(database.url, { connections: 10 });
});
afterAll(() => other.close());
beforeEach(() => {
  replicas = [postgresChallengeStore(postgres), postgresChallengeStore(other)];
});

async function challengeFor({ accountId, accountKey, app, authTime }: Session): Promise<string> {
  const data = uuidv4().replaceAll("-", "");
  const expiresAt = new Date(now.getTime() + 1000);
  const of: Pick<Challenge, "accountId" | "app" | "signer" | "authTime"> = {
    accountId,
    app,
    signer: accountKey,
    authTime,
  };
  await replicas[0]!.insert({ ...of, data, type: "device-key", chainName: "c", key: undefined, expiresAt });
  return data;
}
const answer = async (replica: number, session: Session) =>
  replicas[replica]!.succeed(await challengeFor(session), session, "");
/** Returns a further session of the same device. */
const again = ({ accountId, deviceKey, accountKey }: Session, change: Partial<Session> = {}): Session =>
  someSession({ accountId, deviceKey, accountKey, ...change });
const live = (accountId: string) => prisma.session.findMany({ where: { accountId, endedAt: null } });

/** Returns a store of challenges, and how many transactions it has begun. */
function countingStore() {
  let begun = 0;
  const transaction: Postgres["transaction"] = (...work) => {
    begun += 1;
    return postgres.transaction(...work);
  };
  return { store: postgresChallengeStore({ ...postgres, transaction }), transactions: () => begun };
}

/** Answers a challenge of the session's device with 50 copies at once. */
async function answerWithCopies(session: Session, counter?: PasskeyCounter) {
  const { store, transactions } = countingStore();
  const data = await challengeFor(session);
  const copies = times(50, () => store.succeed(data, again(session), "", counter));
  return { outcomes: await Promise.allSettled(copies), transactions: transactions() };
}
const begunIn = (outcomes: readonly PromiseSettledResult<boolean>[]) =>
  outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value);

describe("sign-ins at once", () => {
  it("open one session for a challenge that is answered at two replicas", async () => {
    for (const session of times(20, () => someSession())) {
      const data = await challengeFor(session);
      const answers = times(4, (i) => replicas[i % 2]!.succeed(data, { ...session, id: someSession().id }, ""));
      expect((await Promise.all(answers)).filter(Boolean)).toHaveLength(1);
      expect(await live(session.accountId)).toHaveLength(1);
      expect(await eventsOf(session.accountId, "session-created")).toBe(1);
    }
  });

  it("that are copies of one answer wait for no lock of their account, one after the other", async () => {
    const session = someSession();
    // The account's first one makes the row that locks it.
    await answer(0, session);
    const { outcomes, transactions } = await answerWithCopies(session);
    expect(begunIn(outcomes)).toHaveLength(1);
    expect(outcomes.every(({ status }) => status === "fulfilled")).toBe(true);
    expect(transactions).toBe(0);
  });

  it("that are copies of an answer of a blocked key wait for no lock either", async () => {
    const session = someSession();
    await answer(0, session);
    const { accountId, deviceKey } = session;
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
    const { outcomes, transactions } = await answerWithCopies(session);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: refused("PleaseRegisterKey") });
    expect(transactions).toBe(0);
  });

  it("that are copies of an answer with an old counter wait for no lock either", async () => {
    const session = someSession();
    const counter = { key: session.accountKey, signCount: 7 };
    await replicas[0]!.succeed(await challengeFor(session), session, "", counter);
    const { outcomes, transactions } = await answerWithCopies(session, counter);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: refused("InvalidSignature") });
    expect(transactions).toBe(0);
  });

  it("of one account with several answers and their copies wait for no lock", async () => {
    const session = someSession();
    await answer(0, session);
    const { store, transactions } = countingStore();
    const [first, second] = [await challengeFor(session), await challengeFor(session)];
    const answers = [first, ...times(50, () => second)].map((data) => store.succeed(data, again(session), ""));
    expect((await Promise.all(answers)).filter(Boolean)).toHaveLength(2);
    expect(transactions()).toBe(0);
  });

  it("that are the account's first wait for no lock", async () => {
    const { outcomes, transactions } = await answerWithCopies(someSession());
    expect(begunIn(outcomes)).toHaveLength(1);
    expect(outcomes.every(({ status }) => status === "fulfilled")).toBe(true);
    expect(transactions).toBe(0);
  });

  it("that are the first of the same accounts, in another order at each replica, wait for each other once", async () => {
    for (const started of times(20, () => times(10, () => someSession()))) {
      const at = (replica: Postgres, sessions: Session[]) => {
        const store = postgresSessionStore(prisma, replica);
        return Promise.all(sessions.map((session) => store.begin(session, "")));
      };
      const begun = await Promise.all([at(postgres, started), at(other, started.toReversed())]);
      expect(begun).toEqual([started, started.toReversed()]);
      for (const { accountId } of started) expect(await eventsOf(accountId, "session-created")).toBe(1);
    }
  });

  it("that are copies of a sign-up get the one session that began, also where they waited", async () => {
    const session = someSession();
    const release = await holdAccount(other, session.accountId);
    const store = postgresSessionStore(prisma, postgres);
    const copies = times(3, () => store.begin({ ...session, refreshId: uuidv4() }, ""));
    // An unrelated person's does not wait with them.
    const unrelated = someSession();
    expect(await store.begin(unrelated, "")).toEqual(unrelated);
    await release();
    const begun = await Promise.all(copies);
    const [row] = await live(session.accountId);
    expect(begun.map((each) => each?.refreshId)).toEqual(times(3, () => row!.refreshId));
    expect(await eventsOf(session.accountId, "session-created")).toBe(1);
  });

  it("with a device key that is not blocked are not refused with a copy whose device key is", async () => {
    const session = someSession();
    await answer(0, session);
    const { accountId } = session;
    const { algorithm, publicKey } = someSession().deviceKey;
    await prisma.blockedKey.create({ data: { accountId, algorithm, publicKey, until: null } });
    const data = await challengeFor(session);
    const outcomes = await Promise.allSettled([
      replicas[0]!.succeed(data, again(session, { deviceKey: { algorithm, publicKey } }), ""),
      replicas[0]!.succeed(data, again(session), ""),
    ]);
    expect(outcomes).toEqual([
      { status: "rejected", reason: refused("PleaseRegisterKey") },
      { status: "fulfilled", value: true },
    ]);
  });

  it("of one device at two replicas leave one session, with an event for each that ended", async () => {
    const first = someSession();
    await answer(0, first);
    const answers = times(12, (i) => answer(i % 2, again(first)));
    expect(await Promise.all(answers)).toEqual(times(12, () => true));
    expect(await live(first.accountId)).toHaveLength(1);
    expect(await eventsOf(first.accountId, "session-created")).toBe(13);
    expect(new Set(await replacedOf(first.accountId)).size).toBe(12);
  });

  it("open none with a key that is blocked at the same time", async () => {
    const access = prismaAccessStore(prisma);
    const outcomes = new Set<string>();
    for (let i = 0; i < 40; i += 1) {
      const { accountId, deviceKey } = someSession();
      const sessions = times(3, () => someSession({ accountId, deviceKey }));
      await answer(0, sessions[0]!);
      const challenges = await Promise.all(sessions.map(challengeFor));
      const signIns = sessions.slice(1).map((session, j) => replicas[j]!.succeed(challenges[j + 1]!, session, ""));
      const blocking = access.cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
      for (const outcome of await Promise.allSettled(signIns)) {
        outcomes.add(outcome.status === "fulfilled" ? "begun" : outcome.reason.reason);
      }
      await blocking;
      expect(await live(accountId)).toEqual([]);
    }
    expect([...outcomes].filter((outcome) => outcome !== "begun" && outcome !== "PleaseRegisterKey")).toEqual([]);
  });

  it("share their transactions", async () => {
    let transactions = 0;
    const counting: Postgres = {
      ...postgres,
      query: (statement) => {
        if (statement.text.includes("begin_each_session")) transactions += 1;
        return postgres.query(statement);
      },
    };
    const sessions = times(60, () => someSession());
    await Promise.all(sessions.map((session) => answer(0, session)));
    const later = await Promise.all(sessions.map(async (session) => ({ session, data: await challengeFor(session) })));
    const store = postgresChallengeStore(counting);
    await Promise.all(later.map(({ session, data }) => store.succeed(data, again(session), "")));
    expect(transactions).toBe(1);
  });
});

it("events of sign-ins and refreshes that share a transaction are in the traces of their own requests", async () => {
  const sessions = times(20, () => someSession());
  await Promise.all(sessions.map((session) => answer(0, session)));
  const challenges = await Promise.all(sessions.map(challengeFor));
  const later = sessions.map((session) => again(session));
  const sessionStore = postgresSessionStore(prisma, postgres);
  const traces = new Map(sessions.map(({ accountId }) => [accountId, newTrace()]));
  await withTraces(async (inTrace) => {
    const each = <T>(work: (session: Session, i: number) => Promise<T>) =>
      Promise.all(later.map((session, i) => inTrace(traces.get(session.accountId)!, () => work(session, i))));
    await each((session, i) => replicas[0]!.succeed(challenges[i]!, session, ""));
    await each((session) => sessionStore.update(session, () => ({ end: "signed-out", result: 0 }), now, ""));
  });
  for (const { accountId } of sessions) {
    const rows = await prisma.outbox.findMany({ where: { subject: { contains: accountId } }, orderBy: { id: "asc" } });
    const events = rows.map(({ payload, subject }) => ({ subject, ...Event.decode(payload) }));
    // The first session began outside of every trace.
    const traced = events.filter(({ traceparent }) => traceparent !== "");
    expect(traced.map(({ subject }) => subject.split(".").at(-1)).sort()).toEqual([
      ...["session-created", "session-ended"],
    ]);
    const ids = traced.map(({ traceparent }) => parseTraceParent(traceparent)!.traceId);
    expect(new Set(ids)).toEqual(new Set([traces.get(accountId)!.traceId]));
  }
});

describe("a sign-in", () => {
  it("that is refused fails no other one of its transaction", async () => {
    const [filler, good, blocked, used, passkey] = times(5, () => someSession()) as Session[] & { length: 5 };
    for (const session of [filler!, good!, blocked!, used!, passkey!]) await answer(0, session);
    const { accountId, deviceKey } = blocked!;
    await prismaAccessStore(prisma).cutOff({ accountId, deviceKey, removedAt: now, requestId: "" });
    const counter = { key: passkey!.accountKey, signCount: 7 };
    await replicas[0]!.succeed(await challengeFor(passkey!), again(passkey!), "", counter);
    const data = await Promise.all([filler!, good!, blocked!, used!, passkey!].map(challengeFor));
    await replicas[0]!.succeed(data[3]!, again(used!), "");
    const results = await Promise.allSettled([
      replicas[0]!.succeed(data[0]!, again(filler!), ""),
      replicas[0]!.succeed(data[1]!, again(good!), ""),
      replicas[0]!.succeed(data[2]!, again(blocked!), ""),
      replicas[0]!.succeed(data[3]!, again(used!), ""),
      replicas[0]!.succeed(data[4]!, again(passkey!), "", counter),
    ]);
    expect(results).toEqual([
      { status: "fulfilled", value: true },
      { status: "fulfilled", value: true },
      { status: "rejected", reason: refused("PleaseRegisterKey") },
      { status: "fulfilled", value: false },
      { status: "rejected", reason: refused("InvalidSignature") },
    ]);
    // A refusal uses nothing up.
    expect(await replicas[1]!.succeed(data[4]!, again(passkey!), "", { ...counter, signCount: 8 })).toBe(true);
  });

  it("whose key was read earlier does not end the session that it replaces before that began", async () => {
    const later = someSession({ createdAt: new Date(now.getTime() + 600) });
    await answer(0, later);
    await answer(0, again(later, { createdAt: now }));
    const { createdAt, endedAt } = await prisma.session.findUniqueOrThrow({ where: { id: later.id } });
    expect(endedAt).toEqual(createdAt);
  });

  it("does not wait for an account that another transaction has locked, of which 30 answers wait", async () => {
    const [held, free] = [someSession(), someSession()];
    for (const session of [held, free]) await answer(0, session);
    const data = await Promise.all([held, free].map(challengeFor));
    const release = await holdAccount(other, held.accountId);
    let begun = 0;
    const waiting = times(30, async () => {
      const isFirst = await replicas[0]!.succeed(data[0]!, again(held), "");
      begun += 1;
      return isFirst;
    });
    expect(await replicas[0]!.succeed(data[1]!, again(free), "")).toBe(true);
    // A later batch has connections left as well.
    expect(await answer(0, again(free))).toBe(true);
    expect(begun).toBe(0);
    await release();
    expect((await Promise.all(waiting)).filter(Boolean)).toHaveLength(1);
  });

  it("reads the rows of its own account only, also where the tables were small when it was planned", async () => {
    const one = openPostgres(database.url, { connections: 1 });
    const session = someSession();
    const begin = (each: Session) =>
      one.transaction(async (tx) => {
        await lockAccess(tx, each.accountId);
        await beginSessionIn(tx, each, "");
        const [row] = await tx.query<{ read: bigint }>(sql`
          SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint AS read
          FROM pg_stat_xact_user_tables WHERE relname IN ('challenge', 'session')`);
        return Number(row!.read);
      });
    for (let i = 0; i < 8; i += 1) await begin(again(session));
    await one.execute(sql`
      INSERT INTO challenge (data, type, account_id, chain_name, app_id, app_name, expires_at)
      SELECT gen_random_uuid(), '', gen_random_uuid(), '', '', '', now() FROM generate_series(1, 2000)`);
    await one.execute(sql`
      INSERT INTO session SELECT (json_populate_record(s, json_build_object('id', gen_random_uuid(), 'account_id', gen_random_uuid()))).*
      FROM session AS s, generate_series(1, 2000) WHERE s.account_id = ${session.accountId}::uuid AND s.ended_at IS NULL`);
    expect(await begin(again(session))).toBeLessThan(50);
    await one.close();
  });

  it("whose transaction is lost changes nothing, and its answer may be repeated", async () => {
    const session = someSession();
    await answer(0, session);
    const data = await challengeFor(session);
    const text = "SELECT session_id, outcome, pg_terminate_backend(pg_backend_pid())";
    const dying = postgresChallengeStore({
      ...postgres,
      query: (begin) => postgres.query({ ...begin, name: "", text: begin.text.replace(/SELECT.*?outcome/, text) }),
    });
    await expect(dying.succeed(data, again(session), "")).rejects.toThrow();
    expect((await live(session.accountId)).map(({ id }) => id)).toEqual([session.id]);
    expect(await replicas[1]!.succeed(data, again(session), "")).toBe(true);
    expect(await eventsOf(session.accountId, "session-created")).toBe(2);
  });
});
