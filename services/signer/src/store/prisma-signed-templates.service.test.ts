import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { createPrismaAdapter, FixedClock, uuidv7 } from "@countersign/service-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PrismaClient } from "./generated/client.ts";
import { prismaSignedTemplates, pruneSignedTemplates } from "./prisma-signed-templates.ts";

const clock = new FixedClock();
let database: TestDatabase;
let prisma: PrismaClient;
beforeAll(async () => {
  database = await createTestDatabase("signer");
  prisma = new PrismaClient({ adapter: createPrismaAdapter(database.url) });
});
afterAll(async () => {
  await prisma.$disconnect();
  await database.drop();
});

it("numbers are known by account, chain and key, until they are long past", async () => {
  const account = { accountId: uuidv7(clock), chainName: "flow-emulator", serverKeyIndex: 0 };
  const store = prismaSignedTemplates(prisma);
  const [before, now] = [clock.now(), new Date(clock.now().getTime() + 1_000)];
  await store.note(account, 3n, before);
  await store.note(account, 4n, before);
  await store.note(account, 4n, now);
  for (const number of [3n, 4n]) expect(await store.has(account, number)).toBe(true);
  expect(await store.has(account, 5n)).toBe(false);
  expect(await store.has({ ...account, serverKeyIndex: 3 }, 3n)).toBe(false);
  expect(await store.has({ ...account, chainName: "other" }, 3n)).toBe(false);
  await pruneSignedTemplates(prisma, now);
  expect([await store.has(account, 3n), await store.has(account, 4n)]).toEqual([false, true]);
});

it("a number that no account ever reaches is none", async () => {
  const account = { accountId: uuidv7(clock), chainName: "flow-emulator", serverKeyIndex: 0 };
  const store = prismaSignedTemplates(prisma);
  await store.note(account, 2n ** 64n - 1n, clock.now());
  expect(await store.has(account, 2n ** 64n - 1n)).toBe(false);
});
