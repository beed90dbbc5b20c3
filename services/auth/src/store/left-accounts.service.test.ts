import { BLOCK_SENT_MS, uuidv7 } from "@countersign/core";
import { expect, it } from "vitest";
import { clock, eventsOf, now, postgres, prisma, someSession, times } from "../testing/store-fixture.ts";
import { tokenStateSince } from "../testing/token-state.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { postgresBlockedKeyStore } from "./postgres-blocked-key-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaHoldStore } from "./prisma-hold-store.ts";

const HOUR_MS = 3_600_000;
const sessions = () => postgresSessionStore(prisma, postgres);
const leave = (accountId: string, leftAt = now) =>
  prismaAccessStore(prisma).leave({ accountId, leftAt, requestId: "" });
const entriesOf = async (accountId: string) =>
  (await tokenStateSince()).filter(({ frozenAccountId }) => frozenAccountId === accountId);
const live = (accountId: string) => prisma.session.count({ where: { accountId, endedAt: null } });

it("an account that leaves is in the token state for as long as its tokens live, and gets no new ones", async () => {
  const session = someSession();
  const { accountId, deviceKey } = session;
  await sessions().begin(session, "");
  const before = Date.now();
  // The event came late: its tokens may be young.
  await leave(accountId, new Date(before - 5 * HOUR_MS));
  expect(await live(accountId)).toBe(0);
  expect(await eventsOf(accountId, "session-ended")).toBe(1);
  const [entry] = await entriesOf(accountId);
  expect(entry).toMatchObject({ active: true });
  expect(Math.abs(entry!.until!.getTime() - before - BLOCK_SENT_MS)).toBeLessThan(10_000);

  await deleteExpiredRows(postgres)(new Date(before + 28 * HOUR_MS));
  expect(await entriesOf(accountId)).toEqual([]);
  expect(await postgresBlockedKeyStore(postgres).hasLeft(accountId)).toBe(true);
  expect(await postgresBlockedKeyStore(postgres).hasLeft(uuidv7(clock))).toBe(false);
  const late = sessions().begin(someSession({ accountId, deviceKey }), "");
  await expect(late).rejects.toMatchObject({ reason: "PleaseRegisterKey" });
  expect(await live(accountId)).toBe(0);
  const other = someSession();
  expect(await sessions().begin(other, "")).toEqual(other);
});

it("an account that leaves while sessions begin has none afterwards", async () => {
  for (let i = 0; i < 20; i += 1) {
    const { accountId } = someSession();
    const begun = times(3, () => sessions().begin(someSession({ accountId }), ""));
    await Promise.allSettled([...begun, leave(accountId)]);
    expect(await live(accountId)).toBe(0);
  }
});

it("an alert about an account that has left is in the token state no longer than the account", async () => {
  const accountId = uuidv7(clock);
  await leave(accountId);
  const hold = { alertId: uuidv7(clock), accountId, chainName: "c", transactionId: "ab".repeat(32), eventType: "e" };
  await prismaHoldStore(prisma).place(hold, now);
  const [entry] = await entriesOf(accountId);
  expect(entry).toMatchObject({ active: true, until: expect.any(Date) });
});
