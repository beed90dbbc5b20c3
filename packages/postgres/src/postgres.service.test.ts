import { setTimeout as sleep } from "node:timers/promises";
import { isPostgresLost } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { startDatabaseProxy, type TcpProxy } from "@countersign/local-stack/testing/tcp-proxy.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type Postgres, type Queries } from "./postgres.ts";
import { sql } from "./statement.ts";

let database: TestDatabase;
let proxy: TcpProxy;
let url: string;
let postgres: Postgres;

beforeAll(async () => {
  database = await createTestDatabase("signer");
  ({ proxy, url } = await startDatabaseProxy(database.url));
  postgres = openPostgres(url, { connections: 1, timeouts: { queryMs: 300 } });
  await postgres.execute(sql`CREATE TABLE number (value int PRIMARY KEY)`);
});
afterAll(async () => {
  await proxy.close();
  await postgres.close();
  await database.drop();
});

it("gives a query up that the server never answers, and goes on with another connection", async () => {
  expect(await postgres.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
  proxy.mute();
  await expect(postgres.query(sql`SELECT 1 AS one`)).rejects.toThrow("Query read timeout");
  proxy.pass();
  expect(await postgres.query(sql`SELECT 1 AS one`)).toEqual([{ one: 1 }]);
});

it("reports how long work waited for a connection, and nothing where one was free", async () => {
  const waits: number[] = [];
  const busy = openPostgres(url, { connections: 2, onWait: (seconds) => waits.push(seconds) });
  try {
    const pause = (on: Queries = busy) => on.query(sql`SELECT pg_sleep(0.1)`);
    await Promise.all([pause(), pause()]);
    await Promise.all([pause(), pause()]);
    expect(waits).toEqual([]);
    expect(busy.connections()).toEqual({ total: 2, idle: 2, max: 2, waiting: 0 });
    const work = Promise.all([pause(), pause(), pause(), busy.transaction(pause)]);
    expect(busy.connections().waiting).toBe(4);
    await work;
    expect(waits).toHaveLength(2);
    expect(Math.min(...waits)).toBeGreaterThan(0.05);
  } finally {
    await busy.close();
  }
});

it("leaves a server that only reads, which the name of the database led to during a failover", async () => {
  const name = new URL(url).pathname.slice(1);
  const before = openPostgres(url, { connections: 1 });
  await before.execute(sql`SELECT 1`);
  await postgres.execute({
    name: "",
    text: `ALTER DATABASE "${name}" SET default_transaction_read_only = on`,
    values: [],
  });
  const during = openPostgres(url, { connections: 1 });
  const write = () => during.transaction((tx) => tx.execute(sql`INSERT INTO number VALUES (25006)`));
  try {
    await expect(write()).rejects.toSatisfy(isPostgresLost);
    await before.execute({
      name: "",
      text: `ALTER DATABASE "${name}" RESET default_transaction_read_only`,
      values: [],
    });
    expect(await write()).toBe(1);
  } finally {
    await Promise.all([before.close(), during.close()]);
  }
});

it("keeps a connection that is idle for longer than the time limit of a query", async () => {
  const processId = () => postgres.query(sql`SELECT pg_backend_pid() AS id`);
  const before = await processId();
  await sleep(700);
  expect(await processId()).toEqual(before);
});

it("an error has its SQLSTATE, and an int8 is a bigint", async () => {
  await expect(postgres.query(sql`SELECT 1 / ${0}::int`)).rejects.toMatchObject({ code: "22012" });
  expect(await postgres.query(sql`SELECT ${2n ** 60n}::bigint AS big`)).toEqual([{ big: 2n ** 60n }]);
});

describe("a transaction", () => {
  const insert = (on: Queries, value: number) => on.execute(sql`INSERT INTO number VALUES (${value})`);
  const numbers = async () =>
    (await postgres.query<{ value: number }>(sql`SELECT value FROM number ORDER BY value`)).map(({ value }) => value);
  beforeEach(async () => void (await postgres.execute(sql`DELETE FROM number`)));

  it("commits when its work returns, and rolls back when it throws", async () => {
    expect(await postgres.transaction((tx) => insert(tx, 1))).toBe(1);
    const thrown = postgres.transaction(async (tx) => {
      await insert(tx, 2);
      throw new Error("changed my mind");
    });
    await expect(thrown).rejects.toThrow("changed my mind");
    expect(await numbers()).toEqual([1]);
  });

  it("fails where a statement has failed, even if the work caught its error", async () => {
    const failed = postgres.transaction(async (tx) => {
      await insert(tx, 1);
      await insert(tx, 1).catch(() => undefined);
    });
    await expect(failed).rejects.toThrow("a statement of the transaction has failed");
    expect(await numbers()).toEqual([]);
  });

  it("is not committed after its time limit; its connection is not used again", async () => {
    const late = postgres.transaction(async (tx) => {
      await insert(tx, 1);
      await sleep(300);
    }, 100);
    const error = await late.catch((cause: unknown) => cause);
    expect(isPostgresLost(error)).toBe(true);
    const waiting = postgres.transaction((tx) => tx.query(sql`SELECT pg_sleep(0.25)::text`), 100);
    expect(isPostgresLost(await waiting.catch((cause: unknown) => cause))).toBe(true);
    expect(await numbers()).toEqual([]);
  });

  it("is ended by Postgres at its time limit where its process hangs; the next one has its own limit", async () => {
    const limit = (timeoutMs?: number) =>
      postgres.transaction((tx) => tx.query(sql`SHOW idle_in_transaction_session_timeout`), timeoutMs);
    expect(await limit(1_234)).toEqual([{ idle_in_transaction_session_timeout: "1234ms" }]);
    expect(await limit()).toEqual([{ idle_in_transaction_session_timeout: "5s" }]);
  });

  it("leaves no connection behind on which the next query waits where the server falls silent", async () => {
    const cut = postgres.transaction(async (tx) => {
      await insert(tx, 1);
      proxy.mute();
      await insert(tx, 2);
    });
    await expect(cut).rejects.toThrow("Query read timeout");
    proxy.pass();
    expect(await numbers()).toEqual([]);
  });

  it("takes no query after its end", async () => {
    const kept = await postgres.transaction(async (tx) => tx);
    await expect(insert(kept, 1)).rejects.toThrow("the transaction has ended");
  });
});
