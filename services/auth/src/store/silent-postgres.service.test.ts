import { toAppError } from "@countersign/core";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { startDatabaseProxy, type TcpProxy } from "@countersign/local-stack/testing/tcp-proxy.ts";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { PrismaClient } from "./generated/client.ts";

/** Postgres is gone without a word: nothing is refused, nothing is answered, and no connection ends. */
let database: TestDatabase;
let proxy: TcpProxy;
let url: string;
let postgres: Postgres;
let prisma: PrismaClient;
const queryMs = 1_500;

beforeAll(async () => {
  database = await createTestDatabase("auth");
  ({ proxy, url } = await startDatabaseProxy(database.url));
  postgres = openPostgres(url, { connections: 1, timeouts: { connectMs: 1_000, queryMs } });
  prisma = new PrismaClient({ adapter: postgres.adapter });
});
afterEach(() => proxy.pass());
afterAll(async () => {
  await proxy.close();
  await postgres.close();
  await database.drop();
});

const works = async () => expect(await prisma.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);

/** Returns the error that a caller would get, and after how many milliseconds. */
async function emitted(work: Promise<unknown>): Promise<{ reason: string; ms: number }> {
  const started = performance.now();
  const error = await work.then(
    () => new Error("it worked"),
    (cause: unknown) => cause,
  );
  return { reason: toAppError(error).reason, ms: performance.now() - started };
}

it("a query of Prisma's ends as Unavailable, and the next one goes over another connection", async () => {
  await works();
  proxy.mute();
  const { reason, ms } = await emitted(prisma.session.findMany());
  expect(reason).toBe("Unavailable");
  expect(ms).toBeLessThan(3 * queryMs);
  proxy.pass();
  await works();
});

it("a caller that waits for a connection behind it gets the error too, and so does one that makes a new one", async () => {
  await works();
  proxy.mute();
  const answers = await Promise.all([1, 2, 3].map(() => emitted(prisma.session.findMany())));
  expect(answers.map(({ reason }) => reason)).toEqual(["Unavailable", "Unavailable", "Unavailable"]);
  const { reason, ms } = await emitted(prisma.session.count());
  expect(reason).toBe("Unavailable");
  expect(ms).toBeLessThan(3 * queryMs);
  proxy.pass();
  await works();
});

it("a transaction leaves no connection behind on which the next one waits", async () => {
  await works();
  const { reason, ms } = await emitted(
    prisma.$transaction(async (tx) => {
      await tx.session.count();
      proxy.mute();
      await tx.session.count();
    }),
  );
  expect(reason).toBe("Unavailable");
  expect(ms).toBeLessThan(4 * queryMs);
  proxy.pass();
  const started = performance.now();
  await works();
  expect(performance.now() - started).toBeLessThan(queryMs);
});

it("a transaction that stands still is ended by Postgres, and holds no locks for ever", async () => {
  const [row] = await prisma.$queryRaw<
    { value: string }[]
  >`SELECT current_setting('idle_in_transaction_session_timeout') AS value`;
  expect(row).toEqual({ value: "30s" });
});
