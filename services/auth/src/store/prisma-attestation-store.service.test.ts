import { expect, it } from "vitest";
import { now, postgres, prisma, times } from "../testing/store-fixture.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { prismaAttestationStore } from "./prisma-attestation-store.ts";

it("of the uses of an attestation at once one is the first, and its row is gone after a day", async () => {
  // Two replicas, each with its own connections.
  const stores = times(2, () => prismaAttestationStore(prisma));
  const use = (fingerprint: string) => ({ id: "attestation", fingerprint });
  const race = await Promise.all(times(20, (i) => stores[i % 2]!.use(use(`${i}`), now)));
  expect(race.filter((answer) => answer === "first")).toHaveLength(1);
  expect(race.filter((answer) => answer === "other")).toHaveLength(19);
  const winner = `${race.indexOf("first")}`;
  expect(await stores[1]!.use(use(winner), now)).toBe("same");

  const deleteExpired = deleteExpiredRows(postgres);
  const after = (ms: number) => deleteExpired(new Date(now.getTime() + ms));
  const count = () => prisma.usedIdempotencyKey.count({ where: { id: "attestation" } });
  // Ten minutes and a tolerance: no login token is valid for longer.
  await after(11 * 60_000);
  expect(await count()).toBe(1);
  await after(24 * 3_600_000 + 1);
  expect(await count()).toBe(0);
});
