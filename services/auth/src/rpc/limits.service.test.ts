import { createTestDatabase } from "@countersign/dev/testing/postgres.ts";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLimit } from "./limits.ts";

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: pg.Pool;

beforeAll(async () => {
  database = await createTestDatabase("auth");
  pool = new pg.Pool({ connectionString: database.url, max: 2 });
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

it("lets through exactly as many as the limit says, however they come and through however many replicas", async () => {
  const replicas = [createLimit(pool, "test", 10), createLimit(pool, "test", 10)];
  const ask = (i: number) => replicas[i % 2]!({ clientIp: "203.0.113.9" });
  const results = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => ask(i)));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  await expect(ask(0)).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: expect.any(Number) });
  await replicas[0]!({ clientIp: "203.0.113.10" });
});

it("fails when it cannot count", async () => {
  const broken = new pg.Pool({ connectionString: database.url.replace(/:\d+\//, ":1/"), max: 1 });
  await expect(createLimit(broken, "test", 10)({ clientIp: "203.0.113.9" })).rejects.toThrow();
  await broken.end();
});
