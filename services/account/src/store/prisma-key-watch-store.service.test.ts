import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { createPrismaAdapter, FixedClock, uuidv4, uuidv7 } from "@countersign/service-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PrismaClient } from "./generated/client.ts";
import { prismaKeyWatchStore } from "./prisma-key-watch-store.ts";

const clock = new FixedClock();
let database: TestDatabase;
let prisma: PrismaClient;
beforeAll(async () => {
  database = await createTestDatabase("account");
  prisma = new PrismaClient({ adapter: createPrismaAdapter(database.url) });
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

const lease = (owner: string, ms = 1_000) => {
  const now = clock.now();
  return { owner, now, until: new Date(now.getTime() + ms) };
};

it("one replica watches a chain, another goes on where the first ended, and each stretch is told once", async () => {
  const store = prismaKeyWatchStore(prisma);
  const [a, b] = [uuidv4(), uuidv4()];
  const accountId = uuidv7(clock);
  const now = clock.now();
  await prisma.account.create({ data: { id: accountId, profileImageUrl: "", createdAt: now, updatedAt: now } });
  const address = { accountId, chainName: "c", chainType: "cadence", address: "01cf0e2f2f715450", chainId: 646 };
  await prisma.address.create({ data: address });

  expect(await store.lease("c", lease(a), 10n)).toBe(10n);
  expect(await store.lease("c", lease(b), 12n)).toBeUndefined();
  expect(await store.lease("c", lease(a), 12n)).toBe(10n);
  const changed = new Map([
    ["01cf0e2f2f715450", 11n],
    ["179b6b1cb6755e31", 12n],
  ]);
  const moved = await Promise.all([1, 2, 3].map(() => store.advance("c", { from: 10n, to: 12n }, changed, now)));
  expect(moved.filter(Boolean)).toHaveLength(1);
  const subject = `cs.v1.account.${accountId}.account-keys-changed`;
  expect(await prisma.outbox.findMany({ select: { subject: true } })).toEqual([{ subject }]);
  clock.advance(1_001);
  expect(await store.lease("c", lease(b), 99n)).toBe(12n);
});
