import { createTestDatabase, type TestDatabase } from "@countersign/dev/testing/postgres.ts";
import { generateKeyPair } from "@countersign/keys/node";
import { createPrismaAdapter, FixedClock, uuidv7 } from "@countersign/service-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RevokedKeys } from "../domain/revoked-keys.ts";
import { PrismaClient } from "./generated/client.ts";
import { prismaRevokedKeys } from "./prisma-revoked-keys.ts";

const clock = new FixedClock();
let database: TestDatabase;
let replicas: PrismaClient[];
beforeAll(async () => {
  database = await createTestDatabase("signer");
  replicas = [1, 2].map(() => new PrismaClient({ adapter: createPrismaAdapter(database.url) }));
});
afterAll(async () => {
  await Promise.all(replicas.map((prisma) => prisma.$disconnect()));
  await database.drop();
});

it("what one replica remembers the others know, by account and chain, whichever y", async () => {
  const [one, other] = replicas.map(prismaRevokedKeys) as [RevokedKeys, RevokedKeys];
  const account = { accountId: uuidv7(clock), chainName: "flow-emulator" };
  const [{ publicKey: gone }, { publicKey: kept }] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
  for (const store of [one, one, other]) await store.remember(account, gone, clock.now());
  for (const store of [one, other]) {
    expect(await store.has(account, gone)).toBe(true);
    expect(await store.has(account, gone.slice(0, 64) + kept.slice(64))).toBe(true);
    expect(await store.has(account, kept)).toBe(false);
    expect(await store.has({ ...account, chainName: "other" }, gone)).toBe(false);
    expect(await store.has({ ...account, accountId: uuidv7(clock) }, gone)).toBe(false);
  }
});
