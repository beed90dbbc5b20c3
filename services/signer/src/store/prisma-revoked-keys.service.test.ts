import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import { clock, replicas } from "../testing/store-fixture.ts";
import { prismaRevokedKeys } from "./prisma-key-history.ts";

it("a key that one replica recorded is known to the others, by account, chain and x coordinate", async () => {
  const [one, other] = [prismaRevokedKeys(replicas[0]), prismaRevokedKeys(replicas[1])];
  const account = { accountId: uuidv7(clock), chainName: "flow-emulator" };
  const [{ publicKey: gone }, { publicKey: kept }] = [generateKeyPair().publicKey, generateKeyPair().publicKey];
  for (const store of [one, one, other])
    await store.record(
      account,
      { publicKey: gone, isOfUserKey: true, limit: 1, recentSince: new Date(0) },
      clock.now(),
    );
  for (const store of [one, other]) {
    expect(await store.has(account, gone)).toBe(true);
    expect(await store.has(account, gone.slice(0, 64) + kept.slice(64))).toBe(true);
    expect(await store.has(account, kept)).toBe(false);
    expect(await store.has({ ...account, chainName: "other" }, gone)).toBe(false);
    expect(await store.has({ ...account, accountId: uuidv7(clock) }, gone)).toBe(false);
  }
});
