import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { createPlainQueries, type PlainQueries } from "@countersign/service-kit";
import { afterAll, beforeAll, expect, it } from "vitest";

let database: TestDatabase;
let plain: PlainQueries;
/** Between us and Postgres: a connection that is used while it is mute carries nothing any more, and nobody is told. */
let mute = false;
const sockets = new Set<Socket>();
const between = createServer((near) => {
  const { hostname, port } = new URL(database.url);
  const far = connect(Number(port), hostname);
  for (const socket of [near, far]) {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => [near, far].forEach((each) => void each.destroy()));
  }
  let lost = false;
  const pass = (to: Socket) => (data: Buffer) => {
    lost ||= mute;
    if (!lost) to.write(data);
  };
  near.on("data", pass(far));
  far.on("data", pass(near));
});

beforeAll(async () => {
  database = await createTestDatabase("signer");
  await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
  const url = new URL(database.url);
  url.hostname = "127.0.0.1";
  url.port = String((between.address() as AddressInfo).port);
  plain = createPlainQueries(url.href, () => undefined, { connections: 1, queryTimeoutMs: 300 });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await plain.close();
  between.close();
  await database.drop();
});

it("gives a query up that the server never answers, and goes on with another connection", async () => {
  expect(await plain.query`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  mute = true;
  await expect(plain.query`SELECT 1 AS one`).rejects.toThrow("Query read timeout");
  mute = false;
  expect(await plain.query`SELECT 1 AS one`).toEqual([{ one: 1 }]);
});
