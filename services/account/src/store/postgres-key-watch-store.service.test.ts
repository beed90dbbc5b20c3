import { setTimeout as sleep } from "node:timers/promises";
import { uuidv4, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { expect, it } from "vitest";
import type { Alert } from "../domain/chain-watch/find-alerts.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresKeyWatchStore } from "./postgres-key-watch-store.ts";

const clock = new FixedClock();

const lease = (owner: string, ms = 60_000) => {
  const now = clock.now();
  return { owner, now, until: new Date(now.getTime() + ms) };
};

it("one replica watches a chain, another goes on where the first ended, and each range is emitted once", async () => {
  const store = postgresKeyWatchStore(prisma, postgres);
  const [a, b] = [uuidv4(), uuidv4()];
  const accountId = uuidv7(clock);
  const now = clock.now();
  await prisma.account.create({ data: { id: accountId, profileImageUrl: "", createdAt: now, updatedAt: now } });
  const address = { accountId, chainName: "c", chainType: "cadence", address: "01cf0e2f2f715450", chainId: 646 };
  await prisma.address.create({ data: address });

  expect(await store.lease("c", lease(a), 10n)).toBe(10n);
  expect(await store.lease("c", lease(b), 12n)).toBeUndefined();
  expect([await store.mayLease("c", a), await store.mayLease("c", b)]).toEqual([true, false]);
  expect(await store.lease("c", lease(a), 12n)).toBe(10n);
  // Each chain by itself.
  expect(await store.mayLease("e", b)).toBe(true);
  expect(await store.lease("e", lease(a), 13n)).toBe(13n);
  const changed = new Map([
    ["01cf0e2f2f715450", 11n],
    ["179b6b1cb6755e31", 12n],
  ]);
  const moved = await Promise.all(
    [1, 2, 3].map(() => store.advance("c", { from: 10n, to: 12n }, { changed, alerts: [] }, now)),
  );
  expect(moved.filter(Boolean)).toHaveLength(1);
  expect(await store.advance("c", { from: 13n, to: 14n }, { changed: new Map(), alerts: [] }, now)).toBe(false);
  const subject = `cs.v1.account.${accountId}.account-keys-changed`;
  expect(await prisma.outbox.findMany({ select: { subject: true } })).toEqual([{ subject }]);
  // A short one, of a replica whose clock is an hour ahead: the database's clock decides.
  clock.advance(3_600_000);
  expect(await store.lease("c", lease(a, 1), 12n)).toBe(12n);
  clock.advance(-3_600_000);
  await sleep(50);
  expect(await store.mayLease("c", b)).toBe(true);
  expect(await store.lease("c", lease(b), 99n)).toBe(12n);
});

it("an alert is raised once by chain, transaction and event, with its event, also where it is found again", async () => {
  const store = postgresKeyWatchStore(prisma, postgres);
  const [accountId, now] = [uuidv7(clock), clock.now()];
  const transactionId = "ab".repeat(32);
  const alert = (index: number): Alert => ({
    accountId,
    event: { type: "flow.AccountContractAdded", address: "01cf0e2f2f715450", transactionId, index, height: 5n },
    kind: "contracts",
    freezes: true,
  });
  const changed = new Map<string, bigint>();
  await store.lease("d", lease(uuidv4()), 0n);
  expect(await store.advance("d", { from: 0n, to: 5n }, { changed, alerts: [alert(0), alert(1)] }, now)).toBe(true);
  expect(await store.advance("d", { from: 0n, to: 5n }, { changed, alerts: [alert(0)] }, now)).toBe(false);
  expect(await store.advance("d", { from: 5n, to: 6n }, { changed, alerts: [alert(1), alert(2)] }, now)).toBe(true);

  const rows = await prisma.chainAlert.findMany({ orderBy: { eventIndex: "asc" } });
  expect(rows.map(({ eventIndex, eventType, freezes }) => [eventIndex, eventType, freezes])).toEqual(
    [0, 1, 2].map((index) => [index, "flow.AccountContractAdded", true]),
  );
  const emitted = await prisma.outbox.findMany({ where: { subject: `cs.v1.account.${accountId}.chain-alert` } });
  const events = emitted.map(({ payload }) => Event.decode(payload));
  expect(events.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
  const index = 2;
  expect(events.find(({ chainAlert }) => chainAlert?.eventIndex === index)).toMatchObject({
    accountId,
    chainAlert: { chainName: "d", transactionId, height: 5n, kind: "contracts", freezes: true },
  });
});

it("knows which addresses are ours", async () => {
  const store = postgresKeyWatchStore(prisma, postgres);
  const { accountId } = await prisma.address.findFirstOrThrow({ where: { chainName: "c" } });
  const found = await store.managed("c", ["01cf0e2f2f715450", "179b6b1cb6755e31"]);
  expect([...found]).toEqual([["01cf0e2f2f715450", accountId]]);
  expect((await store.managed("c", ["179b6b1cb6755e31"])).size).toBe(0);
  expect((await store.managed("other", ["01cf0e2f2f715450"])).size).toBe(0);
});
