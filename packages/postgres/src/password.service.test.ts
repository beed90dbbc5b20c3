import { randomUUID } from "node:crypto";
import type { Watched } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openPostgres, type Postgres } from "./postgres.ts";
import { type Statement, sql } from "./statement.ts";

const role = `password_${randomUUID().slice(0, 8)}`;
let database: TestDatabase;
let admin: Postgres;
let postgres: Postgres | undefined;
beforeAll(async () => {
  database = await createTestDatabase("key");
  admin = openPostgres(database.url);
  await admin.execute(plain(`CREATE ROLE ${role} LOGIN PASSWORD 'first'`));
});
afterAll(async () => {
  await postgres?.close();
  await admin.execute(plain(`DROP ROLE ${role}`));
  await admin.close();
  await database.drop();
});

const plain = (text: string): Statement => ({ ...sql`SELECT 1`, name: undefined as never, text, values: [] });
const urlWith = (password: string) => {
  const url = new URL(database.url);
  [url.username, url.password] = [role, password];
  return url.href;
};
const setPassword = (password: string) => admin.execute(plain(`ALTER ROLE ${role} PASSWORD '${password}'`));

it("open connections stay when the password changes; a new one waits for the file and is tried again", async () => {
  let current = urlWith("first");
  let fileContent = current;
  const listeners: ((url: string) => void)[] = [];
  const refresh = () => {
    if (fileContent === current) return;
    current = fileContent;
    for (const listener of listeners) listener(current);
  };
  const url: Watched<string> = {
    current: () => current,
    onChange: (listener) => {
      listeners.push(listener);
      return () => undefined;
    },
    refresh,
  };
  postgres = openPostgres(url, { connections: 3, timeouts: { connectMs: 10_000 } });
  const { query, transaction, connections } = postgres;
  const one = sql`SELECT 1 AS one`;
  await transaction(async (open) => {
    await open.query(one);
    await setPassword("second");
    expect(await open.query(one)).toEqual([{ one: 1 }]);
    // Every way to a connection.
    const waiting = [query(one), transaction((tx) => tx.query(one))];
    setTimeout(() => {
      fileContent = urlWith("second");
    }, 600);
    expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    expect(await open.query(one)).toEqual([{ one: 1 }]);
  });
  // The later one of the two may have taken the connection that the other one had opened and given back.
  expect(connections().total).toBeGreaterThanOrEqual(2);

  await setPassword("third");
  const busy = Array.from({ length: connections().total }, () => query(sql`SELECT pg_sleep(0.2)`));
  await Promise.all(busy);
  await postgres.close();
  const stale = openPostgres(url, { timeouts: { connectMs: 2_000 } });
  await expect(stale.query(one)).rejects.toMatchObject({ code: "28P01" });
  fileContent = urlWith("third");
  expect(await stale.query(one)).toEqual([{ one: 1 }]);
  postgres = stale;
});
