import { uuidv7 } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { freezing, phoneOf } from "../testing/freezing.ts";
import { clock, prisma } from "../testing/store-fixture.ts";
import { waitsForAccount } from "../testing/waits-for-account.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { liftHolds, openHolds, placeHold, prismaHoldStore } from "./prisma-hold-store.ts";
import { prismaTwoFactorSignInStore } from "./prisma-two-factor-sign-in-store.ts";

let accountId: string;
beforeEach(() => {
  accountId = uuidv7(clock);
});

const alert = () => ({
  alertId: uuidv7(clock),
  accountId,
  chainName: "c",
  transactionId: "ab".repeat(32),
  eventType: "flow.AccountContractAdded",
});
const place = (hold = alert()) => prismaHoldStore(prisma).place(hold, clock.now());
const moreAlerts = (count: number) => prisma.$executeRaw`
  INSERT INTO account_hold SELECT (json_populate_record(h, json_build_object('alert_id', gen_random_uuid()))).*
  FROM account_hold AS h, generate_series(1, ${count}::int) WHERE h.account_id = ${accountId}::uuid`;
const lift = async (seen?: string) => {
  clock.advance(1);
  const newest = (await openHolds(prisma, accountId)).at(-1)?.alertId ?? uuidv7(clock);
  const command = { accountId, seen: seen ?? newest, by: "ada", reason: "it was the person", now: clock.now() };
  return prisma.$transaction((tx) => liftHolds(tx, command));
};
const frozen = async () =>
  (await prisma.tokenStateEntry.findFirst({ where: { kind: "account", subject: accountId } }))?.active;
const emitted = async () =>
  (await prisma.outbox.findMany({ where: { subject: { contains: accountId } }, orderBy: { id: "asc" } })).flatMap(
    ({ payload }) => Event.decode(payload).accountFrozen ?? [],
  );

describe("an account that waits for an operator", () => {
  it("is frozen once, however often its alert comes, and by several at the same time", async () => {
    const hold = alert();
    await Promise.all([1, 2, 3].map(() => place(hold)));
    await place();
    expect(await frozen()).toBe(true);
    expect(await emitted()).toEqual([{ frozen: true, cause: "chain-alert" }]);
    expect(await openHolds(prisma, accountId)).toHaveLength(2);
    expect(await prismaTwoFactorSignInStore(prisma).mayEnroll(accountId, [])).toBe("frozen");
  });

  it("has its next hold as fast with very many of them: few are read", async () => {
    await place();
    await moreAlerts(5000);
    await prisma.$executeRaw`ANALYZE account_hold`;
    const read = await prisma.$transaction(async (tx) => {
      await placeHold(tx, alert(), clock.now());
      const [row] = await tx.$queryRaw<{ read: bigint }[]>`
        SELECT (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint AS read
        FROM pg_stat_xact_user_tables WHERE relname = 'account_hold'`;
      return Number(row!.read);
    });
    expect(read).toBeLessThan(600);
  });

  it("has five hundred alerts at most: a further one is the newest, and what an administrator placed stays", async () => {
    await place();
    await moreAlerts(498);
    const last = alert();
    await place(last);
    const entry = await prisma.tokenStateEntry.findFirst({ where: { kind: "account", subject: accountId } });
    const byAdministrator = { ...alert(), eventType: "administrator" };
    await place(byAdministrator);
    const [seen, unseen] = [alert(), alert()];
    await place(seen);
    await place(seen);
    await place(unseen);
    expect(await prisma.accountHold.count({ where: { accountId } })).toBe(501);
    expect((await openHolds(prisma, accountId)).slice(-2)).toMatchObject([byAdministrator, unseen]);
    expect(await prisma.accountHold.count({ where: { alertId: { in: [last.alertId, seen.alertId] } } })).toBe(0);
    // Nothing changed for other services.
    expect(await prisma.tokenStateEntry.findFirst({ where: { kind: "account", subject: accountId } })).toEqual(entry);
    expect(await lift(seen.alertId)).toEqual({ holds: [], still: "held" });
    expect((await lift(unseen.alertId)).still).toBeUndefined();
    expect(await frozen()).toBe(false);
  });

  it("is not unfrozen by its own person, whichever device and however late", async () => {
    const [phone, other] = [await phoneOf(accountId), await phoneOf(accountId)];
    const recovery = await phoneOf(accountId, { scope: "recover" });
    const underReview = { reason: "AccountUnderReview" };
    await place();
    await expect(freezing.unfreeze(phone)).rejects.toMatchObject(underReview);
    await freezing.freeze(phone);
    await expect(freezing.unfreeze(other)).rejects.toMatchObject(underReview);
    await expect(freezing.unfreeze(recovery)).rejects.toMatchObject(underReview);
    expect(await frozen()).toBe(true);
  });

  it("signs again once an operator has looked, who stays on record; the same alert holds no second time", async () => {
    const hold = alert();
    await place(hold);
    expect(await lift()).toMatchObject({ holds: [hold], still: undefined });
    expect(await frozen()).toBe(false);
    await place(hold);
    expect(await frozen()).toBe(false);
    expect(await prisma.accountHold.findUnique({ where: { alertId: hold.alertId } })).toMatchObject({
      liftedAt: clock.now(),
      liftedBy: "ada",
      liftReason: "it was the person",
    });
    expect(await emitted()).toEqual([
      { frozen: true, cause: "chain-alert" },
      { frozen: false, cause: "chain-alert" },
    ]);
    expect(await lift()).toEqual({ holds: [], still: undefined });
    expect(await emitted()).toHaveLength(2);
    await place();
    expect(await frozen()).toBe(true);
  });

  it("stays frozen where the person has frozen it too, who then lifts that", async () => {
    const [phone, other] = [await phoneOf(accountId), await phoneOf(accountId)];
    await freezing.freeze(phone);
    await place();
    expect(await lift()).toMatchObject({ still: "frozen-by-user" });
    expect(await frozen()).toBe(true);
    clock.advance(1);
    await expect(freezing.unfreeze(phone)).rejects.toMatchObject({ reason: "TimeLockRequired" });
    await freezing.unfreeze(other);
    expect(await frozen()).toBe(false);
    expect(await emitted()).toEqual([
      { frozen: true, cause: "user" },
      { frozen: false, cause: "user" },
    ]);
  });

  it("stays frozen by an alert that came while somebody looked at another, and where no alert of it is named", async () => {
    const [looked, unseen, elsewhere] = [alert(), alert(), { ...alert(), accountId: uuidv7(clock) }];
    await place(looked);
    clock.advance(1);
    await place(unseen);
    await place(elsewhere);
    expect(await lift(elsewhere.alertId)).toEqual({ holds: [], still: "held" });
    expect(await lift(looked.alertId)).toMatchObject({ holds: [looked], still: "held" });
    expect(await frozen()).toBe(true);
    expect(await openHolds(prisma, accountId)).toMatchObject([unseen]);
    expect(await lift(unseen.alertId)).toMatchObject({ holds: [unseen], still: undefined });
    expect(await frozen()).toBe(false);
  });

  it("stays in the list of all accounts, however many alerts one account has", async () => {
    await place();
    const flooding = uuidv7(clock);
    const placedAt = (i: number) => new Date(clock.now().getTime() + 1 + i);
    const flood = Array.from({ length: 1_100 }, (_, i) => ({ ...alert(), accountId: flooding, placedAt: placedAt(i) }));
    await prisma.accountHold.createMany({ data: flood });
    const all = await openHolds(prisma);
    expect(all.filter((hold) => [accountId, flooding].includes(hold.accountId))).toMatchObject([
      { accountId },
      { alertId: flood.at(-1)!.alertId },
    ]);
    expect(await openHolds(prisma, flooding)).toHaveLength(1_000);
  });

  it("stays frozen by an alert that came later at a replica whose clock is behind", async () => {
    const [looked, unseen] = [alert(), alert()];
    await place();
    clock.advance(1_000);
    await place(looked);
    await prismaHoldStore(prisma).place(unseen, new Date(clock.now().getTime() - 5_000));
    expect(await lift(looked.alertId)).toMatchObject({ still: "held" });
    expect(await lift()).toMatchObject({ holds: [unseen], still: undefined });
  });

  it("is held and lifted under its lock, so that services are sent the last of the two", async () => {
    for (const work of [() => place(), () => lift()]) expect(await waitsForAccount(accountId, work)).toBe(true);
  });

  it("stays frozen where it has left", async () => {
    await place();
    await prismaAccessStore(prisma).leave({ accountId, leftAt: clock.now(), requestId: "" });
    expect(await lift()).toMatchObject({ still: "left" });
    expect(await frozen()).toBe(true);
  });
});
