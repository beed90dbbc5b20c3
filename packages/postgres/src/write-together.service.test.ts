import { randomUUID } from "node:crypto";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPostgres, type Postgres, sql } from "./index.ts";
import { type Change, type Writing, writeTogether } from "./write-together.ts";

let database: TestDatabase;
let postgres: Postgres;
beforeAll(async () => {
  database = await createTestDatabase("key");
  postgres = openPostgres(database.url, { connections: 5 });
  await postgres.execute(
    sql`CREATE TABLE note (account_id uuid PRIMARY KEY, event_id uuid NOT NULL, text text NOT NULL)`,
  );
});
afterAll(async () => {
  await postgres.close();
  await database.drop();
});

const asked: string[] = [];
const writing: Writing = {
  one: ({ accountId, eventId, text }) => {
    asked.push("one");
    return sql`INSERT INTO note VALUES (${accountId}, ${eventId}, ${text}) ON CONFLICT DO NOTHING`;
  },
  many: ({ accountId, eventId, text }) => {
    asked.push("many");
    return sql`
      INSERT INTO note SELECT * FROM unnest(${accountId}::uuid[], ${eventId}::uuid[], ${text}::text[])
      ON CONFLICT DO NOTHING RETURNING event_id AS id`;
  },
};
const change = (text: string, accountId: string = randomUUID()): Change => ({ accountId, eventId: randomUUID(), text });
const noteOf = async ({ accountId }: Change) =>
  (await postgres.query<{ text: string }>(sql`SELECT text FROM note WHERE account_id = ${accountId}`))[0]?.text;
const statements = (): string[] => asked.splice(0);

it("writes the changes of one turn by one statement, and says which were written", async () => {
  const write = writeTogether(postgres, writing);
  const changes = [change("a"), change("b"), change("c")];
  expect(await Promise.all(changes.map(write))).toEqual([true, true, true]);
  expect(statements()).toEqual(["many"]);
  expect(await Promise.all(changes.map(noteOf))).toEqual(["a", "b", "c"]);
  expect(await write(change("d"))).toBe(true);
  expect(statements()).toEqual(["many"]);
});

it("asks again for each that was left out: of two changes of an account one is written", async () => {
  const write = writeTogether(postgres, writing);
  const first = change("first");
  const [one, other] = [first, change("second", first.accountId)];
  expect((await Promise.all([write(one), write(other)])).sort()).toEqual([false, true]);
  expect(statements()).toEqual(["many", "one"]);
});

it("refuses a change that cannot be written, and no other of its turn", async () => {
  const write = writeTogether(postgres, writing);
  const [good, bad, another] = [change("good"), change("NUL \0"), change("another")];
  const results = await Promise.allSettled([good, bad, another].map(write));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(await Promise.all([good, bad, another].map(noteOf))).toEqual(["good", undefined, "another"]);
  expect(statements()).toEqual(["many", "one", "one", "one"]);
});

it("fails as a whole where Postgres fails", async () => {
  const broken = () => sql`SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(1)`;
  const write = writeTogether(postgres, { ...writing, many: broken });
  const results = await Promise.allSettled([change("e"), change("f")].map(write));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(statements()).toEqual([]);
});

it("holds up no change behind one that was left out", async () => {
  const held = change("held");
  const late = change("late", held.accountId);
  const leavesOut: Writing["many"] = (columns) => {
    const { accountId, eventId, text } = columns as Record<string, string[]>;
    asked.push("many");
    return sql`
      INSERT INTO note SELECT * FROM unnest(${accountId}::uuid[], ${eventId}::uuid[], ${text}::text[]) AS n(account_id)
      WHERE n.account_id <> ${held.accountId} RETURNING event_id AS id`;
  };
  const write = writeTogether(postgres, { ...writing, many: leavesOut });
  let waiting: Promise<boolean> | undefined;
  await postgres.transaction(async (tx) => {
    await tx.execute(writing.one(held));
    waiting = write(late);
    expect(await Promise.all([write(change("with it")), write(change("and this"))])).toEqual([true, true]);
    expect(await write(change("next"))).toBe(true);
  });
  expect(await waiting).toBe(false);
});

it("writes the changes that come while a statement runs by one statement", async () => {
  statements();
  const write = writeTogether(postgres, writing);
  const first = write(change("first"));
  await expect.poll(statements).toEqual(["many"]);
  const later = ["x", "y", "z"].map((text) => change(text));
  const writes: Promise<boolean>[] = [];
  for (const each of later) writes.push(write(each));
  expect(await Promise.all([first, ...writes])).toEqual([true, true, true, true]);
  expect(statements()).toEqual(["many"]);
});

it("writes each change alone on a database of several nodes", async () => {
  const write = writeTogether({ ...postgres, isDistributed: async () => true }, writing);
  expect(await Promise.all([change("g"), change("h")].map(write))).toEqual([true, true]);
  expect(statements()).toEqual(["one", "one"]);
});
