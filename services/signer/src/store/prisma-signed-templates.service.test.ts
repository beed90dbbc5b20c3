import { uuidv7 } from "@countersign/service-kit";
import { expect, it } from "vitest";
import { clock, prisma, replicas } from "../testing/store-fixture.ts";
import { prismaSignedTemplates, pruneSignedTemplates } from "./prisma-signed-templates.ts";

const newAccount = () => ({
  accountId: uuidv7(clock),
  chainName: "flow-emulator",
  address: "01cf0e2f2f715450",
  serverKeyIndex: 0,
});
const ANY = { most: 1000, since: new Date(0) };

it("numbers are known by account, chain and key, until they are long past", async () => {
  const account = newAccount();
  const store = prismaSignedTemplates(prisma);
  const [before, now] = [clock.now(), new Date(clock.now().getTime() + 1_000)];
  await store.note(account, 3n, before, ANY);
  await store.note(account, 4n, before, ANY);
  await store.note(account, 4n, now, ANY);
  for (const number of [3n, 4n]) expect(await store.has(account, number)).toBe(true);
  expect(await store.has(account, 5n)).toBe(false);
  expect(await store.has({ ...account, serverKeyIndex: 3 }, 3n)).toBe(false);
  expect(await store.has({ ...account, chainName: "other" }, 3n)).toBe(false);
  await pruneSignedTemplates(prisma, now);
  expect([await store.has(account, 3n), await store.has(account, 4n)]).toEqual([false, true]);
});

it("a number that no account ever reaches is none", async () => {
  const account = newAccount();
  const store = prismaSignedTemplates(prisma);
  await store.note(account, 2n ** 64n - 1n, clock.now(), ANY);
  expect(await store.has(account, 2n ** 64n - 1n)).toBe(false);
});

it("many at once, on several replicas, never pass the most that may be open", async () => {
  const account = newAccount();
  const open = { most: 16, since: new Date(clock.now().getTime() - 60_000) };
  const noted = await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      prismaSignedTemplates(replicas[i % 2]!).note(account, BigInt(i % 30), clock.now(), open),
    ),
  );
  const rows = await prisma.signedTemplate.findMany({ where: { accountId: account.accountId } });
  expect(rows).toHaveLength(16);
  // Both requests of a number that is open were signed, and none of another.
  const kept = new Set(rows.map(({ number }) => Number(number)));
  expect(noted).toEqual(noted.map((_, i) => kept.has(i % 30)));
});

it("what is known to have executed, or is too old to, is not open any more", async () => {
  const account = newAccount();
  const store = prismaSignedTemplates(prisma);
  const note = (number: bigint, now = clock.now()) =>
    store.note(account, number, now, { most: 2, since: new Date(now.getTime() - 60_000) });
  const settled = (proposal: string, settledAt: Date | null) =>
    prisma.budgetReservation.create({
      data: {
        ...{
          chainName: account.chainName,
          proposal,
          referenceBlock: "",
          computation: 1,
          fees: 1,
          budgets: [],
          settledAt,
        },
        ...{ addedCount: 1, addedComputation: 1, addedFees: 1 },
      },
    });
  expect([await note(3n), await note(4n), await note(5n), await note(4n)]).toEqual([true, true, false, true]);
  expect(await store.has(account, 5n)).toBe(false);
  await settled(`${account.address}/0/4`, null);
  await settled(`${account.address}/1/3`, clock.now());
  expect(await note(5n)).toBe(false);
  await settled(`${account.address}/0/3`, clock.now());
  expect([await note(5n), await note(6n)]).toEqual([true, false]);
  expect(await store.note({ ...account, serverKeyIndex: 3 }, 6n, clock.now(), { most: 1, since: new Date(0) })).toBe(
    true,
  );
  expect(await note(6n, new Date(clock.now().getTime() + 60_000))).toBe(true);
});
