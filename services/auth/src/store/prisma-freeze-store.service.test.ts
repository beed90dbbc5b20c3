import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { CONTEST_MS, deviceParty, type FreezeFacts } from "../domain/freeze/freeze-rules.ts";
import { freezing, phoneOf, TIME_LOCKS } from "../testing/freezing.ts";
import { clock, eventsOf, prisma, times } from "../testing/store-fixture.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaFreezeStore } from "./prisma-freeze-store.ts";

const { freeze, unfreeze } = freezing;
let accountId: string;
beforeEach(() => {
  accountId = uuidv7(clock);
});

const required = { reason: "TimeLockRequired" };
const isFrozen = async () =>
  (await prisma.tokenStateEntry.findFirst({ where: { kind: "account", subject: accountId } }))?.active ?? false;
const counts = async () => ({
  frozen: await eventsOf(accountId, "account-frozen"),
  unfrozen: await eventsOf(accountId, "account-unfrozen"),
  asked: await eventsOf(accountId, "time-lock-started"),
  cancelled: await eventsOf(accountId, "time-lock-cancelled"),
});
const rows = async () => [
  await prisma.frozenAccount.count({ where: { accountId } }),
  await prisma.freezeParty.count({ where: { accountId } }),
];
/** Fulfilled and refused ones among calls at the same time. */
async function outcomes(calls: Promise<void>[]) {
  const settled = await Promise.allSettled(calls);
  return settled.map((each) => (each.status === "fulfilled" ? "done" : each.reason.reason)).sort();
}

describe("a freeze", () => {
  it("is announced once, however many freeze at the same time", async () => {
    const phones = await Promise.all(times(4, () => phoneOf(accountId)));
    await Promise.all([...phones, ...phones].map((phone) => freeze(phone)));
    expect(await isFrozen()).toBe(true);
    expect(await counts()).toEqual({ frozen: 1, unfrozen: 0, asked: 0, cancelled: 0 });
    expect(await rows()).toEqual([1, 3]);
  });

  it("is not lifted at once by another device, nor by the one that froze, and by each of them after its time lock", async () => {
    const [owner, stolen] = [await phoneOf(accountId), await phoneOf(accountId)];
    for (const alone of [stolen, owner]) {
      await freeze(owner);
      await expect(unfreeze(alone)).rejects.toMatchObject({
        ...required,
        retryAfterSeconds: 60,
        metadata: { availableAt: new Date(clock.now().getTime() + TIME_LOCKS.deviceMs).toISOString() },
      });
      clock.advance(TIME_LOCKS.deviceMs - 1);
      await expect(unfreeze(alone)).rejects.toMatchObject(required);
      expect(await isFrozen()).toBe(true);
      clock.advance(1);
      await unfreeze(alone);
      expect(await isFrozen()).toBe(false);
      expect(await rows()).toEqual([0, 0]);
    }
    expect(await counts()).toEqual({ frozen: 2, unfrozen: 2, asked: 2, cancelled: 0 });
  });

  it("is lifted once where the device that froze and another one ask at the same time", async () => {
    const [owner, second] = [await phoneOf(accountId), await phoneOf(accountId)];
    await freeze(owner);
    const calls = [owner, second, owner, second].map((phone) => unfreeze(phone));
    // The first one starts its time lock; its own repetition may come before the other's agreement.
    expect((await outcomes(calls)).filter((each) => each === "done").length).toBeGreaterThanOrEqual(2);
    expect(await isFrozen()).toBe(false);
    expect(await counts()).toMatchObject({ unfrozen: 1, asked: 1 });
    expect(await rows()).toEqual([0, 0]);
  });

  it("starts one time lock for one device that asks several times at once", async () => {
    const [owner, stolen] = [await phoneOf(accountId), await phoneOf(accountId)];
    await freeze(owner);
    expect(await outcomes(times(4, () => unfreeze(stolen)))).toEqual(times(4, () => "TimeLockRequired"));
    expect(await counts()).toMatchObject({ asked: 1 });
    const event = await prisma.outbox.findFirst({ where: { subject: `cs.v1.auth.${accountId}.time-lock-started` } });
    expect(Event.decode(event!.payload)).toMatchObject({
      accountId,
      timeLockStarted: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        operation: "unfreeze",
        availableAt: new Date(clock.now().getTime() + TIME_LOCKS.deviceMs),
        chainName: "",
      },
    });
  });

  it("stays where the owner freezes again: what the stolen phone had waited for is void", async () => {
    const [owner, stolen] = [await phoneOf(accountId), await phoneOf(accountId)];
    await freeze(owner);
    await expect(unfreeze(stolen)).rejects.toMatchObject(required);
    clock.advance(TIME_LOCKS.deviceMs);
    await freeze(owner);
    expect(await counts()).toEqual({ frozen: 1, unfrozen: 0, asked: 1, cancelled: 1 });
    await expect(unfreeze(stolen)).rejects.toMatchObject(required);
    expect(await isFrozen()).toBe(true);
  });

  it("is lifted by nobody who came after it or was removed, and what a removed device asked for is void", async () => {
    const [owner, stolen, third] = [await phoneOf(accountId), await phoneOf(accountId), await phoneOf(accountId)];
    await freeze(owner);
    const young = await phoneOf(accountId, { createdAt: clock.now() });
    await expect(unfreeze(young)).rejects.toMatchObject({ reason: "UnfreezeNotAllowed" });
    await expect(unfreeze(stolen)).rejects.toMatchObject(required);
    const removal = { accountId, deviceKey: stolen.deviceKey, removedAt: clock.now(), requestId: "" };
    await prismaAccessStore(prisma).cutOff(removal);
    await expect(unfreeze(stolen)).rejects.toMatchObject({ reason: "UnfreezeNotAllowed" });
    const recovery = await phoneOf(accountId, { scope: "recover" });
    await expect(unfreeze(recovery)).rejects.toMatchObject(required);
    await freeze(young);
    await unfreeze(third);
    expect(await isFrozen()).toBe(false);
  });

  it("is not set by a device that was removed a moment ago, whose token still counts", async () => {
    const [owner, stolen] = [await phoneOf(accountId), await phoneOf(accountId)];
    const removal = { accountId, deviceKey: stolen.deviceKey, removedAt: clock.now(), requestId: "" };
    await prismaAccessStore(prisma).cutOff(removal);
    await freeze(stolen);
    expect([await isFrozen(), await counts()]).toMatchObject([false, { frozen: 0 }]);
    await freeze(owner);
    expect(await isFrozen()).toBe(true);
  });

  it("says since when the device that set it was on the account", async () => {
    const since = async () => (await prismaFreezeStore(prisma).find(accountId, clock.now()))?.frozenBySince;
    const [phone, recovery] = [await phoneOf(accountId), await phoneOf(accountId, { scope: "recover" })];
    await freeze(phone);
    expect(await since()).toEqual(phone.createdAt);
    await unfreeze(phone).catch(() => undefined);
    await unfreeze(recovery);
    await freeze(recovery);
    expect(await since()).toBeUndefined();
  });

  it("is known to be younger than a device whose sign-up or enrollment auth has seen", async () => {
    const [owner, other] = [await phoneOf(accountId), await phoneOf(accountId)];
    await freeze(owner);
    clock.advance(1);
    const late = await phoneOf(accountId, { createdAt: clock.now() });
    await expect(unfreeze(late)).rejects.toMatchObject({ reason: "UnfreezeNotAllowed" });
    const { deviceKey } = late;
    await prisma.twoFactorSignIn.create({
      data: {
        id: uuidv7(clock),
        tokenId: uuidv7(clock),
        accountId,
        chainName: "c",
        appId: "demo",
        appName: "Demo",
        accountKeyAlgorithm: deviceKey.algorithm,
        accountKey: deviceKey.publicKey,
        deviceKeyAlgorithm: deviceKey.algorithm,
        deviceKey: deviceKey.publicKey,
        deviceAttributes: {},
        authTime: clock.now(),
        createdAt: clock.now(),
        expiresAt: clock.now(),
        transactionId: "ab",
        enrolledAt: new Date(clock.now().getTime() - 1000),
      },
    });
    await expect(unfreeze(late)).rejects.toMatchObject(required);
    await expect(unfreeze(other)).rejects.toMatchObject(required);
  });

  it("knows since when a device is on the account by full sessions, sign-up and enrollment of its own", async () => {
    const { publicKey: key } = generateKeyPair();
    const since = async () => {
      const facts: FreezeFacts[] = [];
      const command = { accountId, by: deviceParty(key), key, now: clock.now(), requestId: "" };
      const looked = prismaFreezeStore(prisma).change(command, (found) => {
        facts.push(found);
        throw new Error("looked");
      });
      await expect(looked).rejects.toThrow("looked");
      return facts[0]!.memberSince;
    };
    const at = (seconds: number) => new Date(clock.now().getTime() - seconds * 1000);
    const other = generateKeyPair().publicKey;
    const columns = (deviceKey: typeof key) => ({
      ...{ accountKeyAlgorithm: other.algorithm, accountKey: other.publicKey },
      ...{ deviceKeyAlgorithm: deviceKey.algorithm, deviceKey: deviceKey.publicKey },
    });
    const saga = { chainName: "c", appId: "demo", appName: "Demo", deviceAttributes: {}, createdAt: at(9) };
    const signUp = (deviceKey: typeof key, account: string, deviceRegisteredAt: Date | null) => {
      const rest = { userKeyType: "device", deviceId: uuidv7(clock), profileImageUrl: "", leaseUntil: at(0) };
      const data = { ...saga, ...rest, ...columns(deviceKey), accountId: account, deviceRegisteredAt };
      return prisma.signUp.create({ data });
    };
    const enrollment = (deviceKey: typeof key, account: string, enrolledAt: Date | null) => {
      const rest = { id: uuidv7(clock), tokenId: uuidv7(clock), expiresAt: at(0), transactionId: "ab" };
      const data = { ...saga, ...rest, ...columns(deviceKey), accountId: account, enrolledAt };
      return prisma.twoFactorSignIn.create({ data });
    };
    const former = (deviceKey: typeof key, account: string, firstFullAt: Date) =>
      prisma.formerSession.create({ data: { ...columns(deviceKey), accountId: account, firstFullAt } });
    const elsewhere = uuidv7(clock);
    for (const [deviceKey, account] of [
      [other, accountId],
      [key, elsewhere],
    ] as const) {
      for (const write of [signUp, enrollment, former]) await write(deviceKey, account, at(8));
      await phoneOf(account, { deviceKey, createdAt: at(8) });
    }
    await phoneOf(accountId, { deviceKey: key, scope: "recover", createdAt: at(8) });
    await enrollment(key, accountId, null);
    expect(await since()).toBeUndefined();
    await prisma.signUp.deleteMany({ where: { accountId } });
    const { chainName } = await signUp(key, accountId, null);
    expect(await since()).toBeUndefined();
    const where = { accountId_chainName: { accountId, chainName } };
    await prisma.signUp.update({ where, data: { deviceRegisteredAt: at(1) } });
    expect(await since()).toEqual(at(1));
    await enrollment(key, accountId, at(2));
    expect(await since()).toEqual(at(2));
    await former(key, accountId, at(3));
    expect(await since()).toEqual(at(3));
    await phoneOf(accountId, { deviceKey: key, createdAt: at(4) });
    expect(await since()).toEqual(at(4));
  });

  it("counts a device as removed while its key is blocked on this account", async () => {
    const owner = await phoneOf(accountId);
    await freeze(owner);
    const { algorithm, publicKey } = owner.deviceKey;
    const removed = async () => (await prismaFreezeStore(prisma).find(accountId, clock.now()))?.removed;
    const block = (account: string, until: Date | null) =>
      prisma.blockedKey.upsert({
        where: { accountId_algorithm_publicKey: { accountId: account, algorithm, publicKey } },
        create: { accountId: account, algorithm, publicKey, until },
        update: { until },
      });
    await block(uuidv7(clock), null);
    expect(await removed()).toEqual([]);
    await block(accountId, clock.now());
    expect(await removed()).toEqual([]);
    await block(accountId, new Date(clock.now().getTime() + 1));
    expect(await removed()).toEqual([deviceParty(owner.deviceKey)]);
  });

  it("that is joined by a device cancels what others asked for, on this account only, and by the recovery key nothing", async () => {
    const [owner, stolen] = [await phoneOf(accountId), await phoneOf(accountId)];
    const recovery = await phoneOf(accountId, { scope: "recover" });
    const elsewhere = uuidv7(clock);
    const { deviceKey, accountKey } = stolen;
    const [other, twin] = [await phoneOf(elsewhere), await phoneOf(elsewhere, { deviceKey, accountKey })];
    for (const frozenBy of [owner, other]) await freeze(frozenBy);
    for (const asking of [stolen, twin]) await expect(unfreeze(asking)).rejects.toMatchObject(required);
    expect((await prismaFreezeStore(prisma).find(accountId, clock.now()))?.joinedBy).toEqual([]);
    await freeze(owner);
    clock.advance(TIME_LOCKS.deviceMs);
    await expect(unfreeze(stolen)).rejects.toMatchObject(required);
    await freeze(recovery);
    clock.advance(TIME_LOCKS.deviceMs);
    for (const asking of [stolen, twin]) await unfreeze(asking);
    expect(await isFrozen()).toBe(false);
  });

  it("is lifted by the recovery key alone when it has lasted, also where a device cancels all the time", async () => {
    const [stolen, recovery] = [await phoneOf(accountId), await phoneOf(accountId, { scope: "recover" })];
    await freeze(stolen);
    await expect(unfreeze(recovery)).rejects.toMatchObject({ ...required, retryAfterSeconds: 300 });
    clock.advance(TIME_LOCKS.recoveryMs);
    await freeze(stolen);
    await unfreeze(recovery);
    expect(await isFrozen()).toBe(false);
  });

  it("of the recovery key is lifted by it and a device, and its second one cancels nothing of a device's", async () => {
    const [phone, recovery] = [await phoneOf(accountId), await phoneOf(accountId, { scope: "recover" })];
    await freeze(recovery);
    expect(await prismaFreezeStore(prisma).find(accountId, clock.now())).toMatchObject({ frozenBy: "recovery-key" });
    await expect(unfreeze(phone)).rejects.toMatchObject(required);
    await freeze(recovery);
    expect(await counts()).toMatchObject({ cancelled: 0 });
    await unfreeze(recovery);
    expect(await isFrozen()).toBe(false);
  });

  it("is not set by a device once it has been lifted by the recovery key for a month", async () => {
    const [stolen, recovery] = [await phoneOf(accountId), await phoneOf(accountId, { scope: "recover" })];
    const liftedByRecovery = async () => {
      await freeze(stolen);
      clock.advance(TIME_LOCKS.recoveryMs);
      await unfreeze(recovery);
    };
    await liftedByRecovery();
    await prisma.recoveryLift.update({
      where: { accountId },
      data: { since: new Date(clock.now().getTime() - CONTEST_MS + TIME_LOCKS.recoveryMs) },
    });
    await liftedByRecovery();
    await expect(freeze(stolen)).rejects.toMatchObject({ reason: "TimeLockContested" });
    expect(await isFrozen()).toBe(false);
    await freeze(recovery);
    expect(await isFrozen()).toBe(true);
    // Lifts long after the last one are another series.
    const long = new Date(0);
    await prisma.recoveryLift.update({ where: { accountId }, data: { since: long, lastAt: long } });
    clock.advance(TIME_LOCKS.recoveryMs);
    await unfreeze(recovery);
    const [since, lastAt] = [clock.now(), clock.now()];
    expect(await prisma.recoveryLift.findUnique({ where: { accountId } })).toMatchObject({ since, lastAt });
  });

  it("is lifted by nobody once the account has left", async () => {
    const phone = await phoneOf(accountId);
    await freeze(phone);
    await prismaAccessStore(prisma).leave({ accountId, leftAt: clock.now(), requestId: "" });
    await expect(unfreeze(phone)).rejects.toMatchObject({ reason: "UnfreezeNotAllowed" });
    expect(await isFrozen()).toBe(true);
  });
});
