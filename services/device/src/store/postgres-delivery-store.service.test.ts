import { NIL_UUID } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { registerDevice } from "../domain/devices/register-device.ts";
import { someAttributes, someRegistration } from "../testing/samples.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresDeliveryStore } from "./postgres-delivery-store.ts";
import { postgresDeviceStore } from "./postgres-device-store.ts";

describe("deliveries in Postgres", () => {
  const clock = new FixedClock();

  const notice = (accountId: string, changes = {}) => ({
    eventId: v7(),
    accountId,
    kind: "frozen",
    at: clock.now(),
    since: new Date(clock.now().getTime() - 1_000),
    limit: 3,
    ...changes,
  });

  it("remember what was delivered, and by no second replica", async () => {
    const store = postgresDeliveryStore(prisma, postgres);
    const delivery = { eventId: v7(), target: "email", accountId: v7(), kind: "frozen", at: clock.now() };
    const other = { ...delivery, eventId: v7(), accountId: v7() };
    expect(await store.has(delivery)).toBe(false);
    await Promise.all([store.note(delivery), store.note(delivery), store.note(other)]);
    const asked = [delivery, { ...delivery, target: "push:1" }, other, { ...other, eventId: v7() }];
    expect(await Promise.all(asked.map(store.has))).toEqual([true, false, true, false]);
    await store.forgetDeliveries(clock.now());
    expect(await store.has(delivery)).toBe(true);
    await store.forgetDeliveries(new Date(clock.now().getTime() + 1));
    expect(await store.has(delivery)).toBe(false);
  });

  it("keep the limit among many at once, per account and kind, and let an event that has begun go on", async () => {
    const store = postgresDeliveryStore(prisma, postgres);
    const accountId = v7();
    // Pushes do not count.
    await store.note({ ...notice(accountId), target: "push:1" });
    const all = Array.from({ length: 8 }, () => notice(accountId));
    const begun = await Promise.all(all.map(store.begin));
    expect(begun.filter(Boolean)).toHaveLength(3);
    expect(await Promise.all(all.map(store.begin))).toEqual(begun);
    expect(await store.begin(notice(accountId, { kind: "unfrozen" }))).toBe(true);
    expect(await store.begin(notice(v7()))).toBe(true);
    expect(await store.begin(notice(accountId, { since: clock.now() }))).toBe(true);
  });

  it("hold the oldest and the newest notice over the limit, of each kind, until they are noted", async () => {
    const store = postgresDeliveryStore(prisma, postgres);
    const accountId = v7();
    const [first, second, third, fourth] = Array.from({ length: 4 }, () => notice(accountId, { limit: 0 }));
    const other = notice(accountId, { kind: "unfrozen", limit: 0 });
    const ours = [first!, second!, third!, fourth!, other].map(({ eventId }) => eventId);
    const later = new Date(clock.now().getTime() + 1);
    const held = async (before = later) =>
      (await store.held(before, NIL_UUID)).map(({ eventId }) => eventId).filter((id) => ours.includes(id));
    // Those of one batch, and of two.
    expect(await Promise.all([first!, second!, other].map(store.begin))).toEqual([false, false, false]);
    expect((await held()).sort()).toEqual([first!.eventId, second!.eventId, other.eventId].sort());
    await store.noteHeld(first!);
    expect(await store.begin(fourth!)).toBe(false);
    expect(await store.begin(third!)).toBe(false);
    expect(await store.begin(third!)).toBe(false);
    expect((await held()).sort()).toEqual([second!.eventId, third!.eventId, other.eventId].sort());
    expect(await held(clock.now())).toEqual([]);
    await store.noteHeld(second!);
    await store.noteHeld(third!);
    expect(await held()).toEqual([other.eventId]);
    expect(await store.begin(third!)).toBe(true);
  });

  it("keep the oldest one that is held beside the newest: further ones must not put off both", async () => {
    const store = postgresDeliveryStore(prisma, postgres);
    const accountId = v7();
    const start = clock.now().getTime();
    const at = (minutes: number) => new Date(start + minutes * 60_000);
    const asked = [0, 20, 40, 59].map((minutes) => notice(accountId, { limit: 0, at: at(minutes) }));
    for (const each of asked) await store.begin(each);
    const held = async (before: Date) => {
      const ours = (await store.held(before, NIL_UUID)).filter((each) => each.accountId === accountId);
      return ours.map(({ eventId }) => eventId);
    };
    expect(await held(at(1))).toEqual([asked[0]!.eventId]);
    expect(await held(at(60))).toEqual([asked[0]!.eventId, asked[3]!.eventId]);
    const after = await store.held(at(60), asked[0]!.eventId);
    expect(after.filter((each) => each.accountId === accountId)).toMatchObject([{ eventId: asked[3]!.eventId }]);
  });

  it("clear a push token where it is still that one", async () => {
    const store = postgresDeliveryStore(prisma, postgres);
    const devices = postgresDeviceStore(prisma, postgres);
    const accountId = v7();
    const attributes = { ...someAttributes, pushToken: "token" };
    const register = registerDevice({ store: devices, clock, maxDevices: 20 });
    const { id } = await register({ ...someRegistration(accountId), attributes });
    const other = await register({ ...someRegistration(v7()), attributes });
    await store.clearPushToken(id, "older");
    expect((await devices.listLive(accountId))[0]?.attributes.pushToken).toBe("token");
    await store.clearPushToken(id, "token");
    expect((await devices.listLive(accountId))[0]?.attributes.pushToken).toBe("");
    expect((await devices.listLive(other.accountId))[0]?.attributes.pushToken).toBe("token");
    const asked = [accountId, v7(), accountId].map(store.history);
    expect(await Promise.all(asked)).toMatchObject([[{ id }], [], [{ id }]]);
  });
});
