import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { createPrismaAdapter, FixedClock, uuidv7 } from "@countersign/service-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PrismaClient } from "./generated/client.ts";
import { prismaEphemeralUses, pruneEphemeralUses } from "./prisma-ephemeral-uses.ts";

const clock = new FixedClock();
let database: TestDatabase;
let replicas: PrismaClient[];
beforeAll(async () => {
  database = await createTestDatabase("signer");
  replicas = [1, 2].map(() => new PrismaClient({ adapter: createPrismaAdapter(database.url, 5) }));
});
afterAll(async () => {
  await Promise.all(replicas.map((prisma) => prisma.$disconnect()));
  await database.drop();
});

it("of racing uses through two replicas three get through, for each operation and request", async () => {
  const stores = replicas.map(prismaEphemeralUses);
  const race = async (requestId: string, operation: "transaction" | "paymaster") => {
    const uses = Array.from({ length: 20 }, (_, i) => stores[i % 2]!.use(requestId, operation, 3, clock.now()));
    return (await Promise.all(uses)).filter(Boolean).length;
  };
  const [one, other] = [uuidv7(clock), uuidv7(clock)];
  expect(await Promise.all([race(one, "transaction"), race(one, "paymaster"), race(other, "transaction")])).toEqual([
    3, 3, 3,
  ]);
  expect(await race(one, "transaction")).toBe(0);
  // What is swept is older than any token that could come again.
  await pruneEphemeralUses(replicas[0]!, clock.now());
  expect(await race(one, "transaction")).toBe(0);
});
