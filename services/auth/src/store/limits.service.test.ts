import { createTestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, type Postgres, sql } from "@countersign/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AddressLimit, createCounter, createLimit as createLimitOf } from "./limits.ts";

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let postgres: Postgres;
/** Creates a limit with a counter of its own, as another replica has. */
const createLimit = (on: Postgres, name: string, limit: AddressLimit) => createLimitOf(createCounter(on), name, limit);
const limitOf = (perMinute: number) => ({ perMinute, wideFactor: 10 });

beforeAll(async () => {
  database = await createTestDatabase("auth");
  postgres = openPostgres(database.url, { connections: 2 });
});

afterAll(async () => {
  await postgres?.close();
  await database?.drop();
});

it("lets through exactly as many as the limit says, however they come and through however many replicas", async () => {
  const replicas = [createLimit(postgres, "test", limitOf(10)), createLimit(postgres, "test", limitOf(10))];
  const ask = (i: number) => replicas[i % 2]!({ clientIp: "203.0.113.9" });
  const results = await Promise.allSettled(Array.from({ length: 40 }, (_, i) => ask(i)));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(10);
  await expect(ask(0)).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: expect.any(Number) });
  await replicas[0]!({ clientIp: "203.0.113.10" });
});

it("fails when it cannot count", async () => {
  const broken = openPostgres(database.url.replace(/:\d+\//, ":1/"), { connections: 1 });
  await expect(createLimit(broken, "test", limitOf(10))({ clientIp: "203.0.113.9" })).rejects.toThrow();
  await broken.close();
});

describe("IPv6", () => {
  const outcomes = async (work: readonly Promise<void>[]) => {
    const settled = await Promise.allSettled(work);
    return settled.filter(({ status }) => status === "fulfilled").length;
  };
  const rows = async (name: string) => {
    const rows = await postgres.query(sql`SELECT key FROM rate_limit WHERE key LIKE ${`${name}:%`}`);
    return rows.length;
  };

  it("counts all addresses of a /64 as one, in every spelling and through every replica", async () => {
    const replicas = [createLimit(postgres, "own", limitOf(10)), createLimit(postgres, "own", limitOf(10))];
    const addresses = ["2001:db8:1:2::1", "2001:DB8:1:2:ffff::", "2001:0db8:0001:0002:1:2:3:4", "2001:db8:1:2::2%eth0"];
    const asked = Array.from({ length: 40 }, (_, i) => replicas[i % 2]!({ clientIp: addresses[i % 4]! }));
    expect(await outcomes(asked)).toBe(10);
    await replicas[0]!({ clientIp: "2001:db8:1:3::1" });
  });

  it("counts IPv4 in IPv6 as that IPv4 address", async () => {
    const limit = createLimit(postgres, "mapped", limitOf(3));
    for (const clientIp of ["203.0.113.20", "::ffff:203.0.113.20", "64:ff9b::cb00:7114"]) await limit({ clientIp });
    await expect(limit({ clientIp: "::ffff:cb00:7114" })).rejects.toMatchObject({ reason: "RateLimited" });
  });

  it("a /48 has ten times the allowance, writes few rows beyond it, and leaves its neighbours alone", async () => {
    const limit = createLimit(postgres, "wide", limitOf(5));
    const of = (i: number) => limit({ clientIp: `2001:db8:2:${i.toString(16)}::1` });
    let granted = 0;
    for (let i = 0; i < 120; i++) granted += await outcomes([of(i)]);
    expect(granted).toBe(50);
    await expect(of(999)).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: expect.any(Number) });
    // Fifty of the /64s that were granted, the one that was refused first, and the /48.
    expect(await rows("wide")).toBe(52);
    await limit({ clientIp: "2001:db8:3::1" });
  });

  it("one /64 does not use up its /48", async () => {
    const limit = createLimit(postgres, "neighbour", limitOf(5));
    const asked = Array.from({ length: 200 }, () => limit({ clientIp: "2001:db8:4:1::1" }));
    expect(await outcomes(asked)).toBe(5);
    await limit({ clientIp: "2001:db8:4:2::1" });
  });
});
