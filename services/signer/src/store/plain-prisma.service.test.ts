import { type MuteProxy, startMuteProxy } from "@countersign/local-stack/testing/mute-proxy.ts";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { createPlainQueries, type PlainQueries } from "@countersign/postgres";
import { afterAll, beforeAll, expect, it } from "vitest";

let database: TestDatabase;
let proxy: MuteProxy;
let plain: PlainQueries;

beforeAll(async () => {
  database = await createTestDatabase("signer");
  proxy = await startMuteProxy(database.url);
  plain = createPlainQueries(proxy.url, () => undefined, { connections: 1, timeouts: { queryMs: 300 } });
});
afterAll(async () => {
  await proxy.close();
  await plain.close();
  await database.drop();
});

it("gives a query up that the server never answers, and goes on with another connection", async () => {
  expect(await plain.query`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  proxy.mute();
  await expect(plain.query`SELECT 1 AS one`).rejects.toThrow("Query read timeout");
  proxy.speak();
  expect(await plain.query`SELECT 1 AS one`).toEqual([{ one: 1 }]);
});
