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

let asked: string[] = [];
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
  expect(statements()).toEqual(["one"]);
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

it("lets the next changes not wait for those before", async () => {
  const write = writeTogether(postgres, writing);
  const held = change("held");
  let waiting: Promise<boolean[]> | undefined;
  await postgres.transaction(async (tx) => {
    await tx.execute(writing.one(held));
    waiting = Promise.all([write(change("late", held.accountId)), write(change("with it"))]);
    await expect.poll(() => asked).toContain("many");
    expect(await Promise.all([write(change("next")), write(change("and next"))])).toEqual([true, true]);
  });
  expect(await waiting).toEqual([false, true]);
  asked = [];
});
