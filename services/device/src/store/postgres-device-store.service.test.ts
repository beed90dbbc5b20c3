import { uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { Postgres } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { recordDeviceUse } from "../domain/devices/record-device-use.ts";
import { registerDevice } from "../domain/devices/register-device.ts";
import { removeDevice, YOUNG_DEVICE_MS } from "../domain/devices/remove-device.ts";
import { updateDevice } from "../domain/devices/update-device.ts";
import { someAttributes, someRegistration } from "../testing/samples.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresDeviceStore } from "./postgres-device-store.ts";

describe("devices in Postgres", () => {
  let clock: FixedClock;
  let accountId: string;

  beforeEach(() => {
    clock = new FixedClock();
    accountId = v7();
  });

  const commands = () => {
    const options = { store: postgresDeviceStore(prisma, postgres), clock, maxDevices: 20 };
    return {
      register: registerDevice(options),
      list: options.store.listLive,
      update: updateDevice(options),
      remove: removeDevice(options),
      note: recordDeviceUse(options),
    };
  };
  const eventsOf = async (account: string) => {
    const rows = await prisma.outbox.findMany({ where: { subject: { contains: account } }, orderBy: { id: "asc" } });
    return rows.map(({ id, subject, payload }) => ({ id, subject, event: Event.decode(payload) }));
  };

  it("registers one device when the same key asks twice at once", async () => {
    const { register } = commands();
    const command = someRegistration(accountId);
    const [first, second] = await Promise.all([register(command), register({ ...command, deviceId: v7() })]);
    expect(second).toEqual(first);
    expect(await prisma.device.count({ where: { accountId } })).toBe(1);
    const [only, ...more] = await eventsOf(accountId);
    expect(more).toEqual([]);
    expect(only).toMatchObject({
      subject: `cs.v1.device.${accountId}.device-registered`,
      event: { id: only?.id, accountId, requestId: "test", deviceRegistered: { deviceId: first?.id } },
    });
  });

  it("registers the first two devices of an account at once, each with its event", async () => {
    const { register, list } = commands();
    const two = await Promise.all([1, 2].map(() => register(someRegistration(accountId))));
    expect((await list(accountId)).map(({ id }) => id).sort()).toEqual(two.map(({ id }) => id).sort());
    expect(await eventsOf(accountId)).toHaveLength(2);
  });

  it("registers the first devices of many accounts by one statement, also where replicas do so at once", async () => {
    const asked = Array.from({ length: 20 }, () => someRegistration(v7()));
    let statements = 0;
    const counting: Postgres = {
      ...postgres,
      query: (statement) => {
        statements += 1;
        return postgres.query(statement);
      },
    };
    const replicas = [asked, asked.toReversed()].map((inOrder) => {
      const store = postgresDeviceStore(prisma, counting);
      const register = registerDevice({ store, clock, maxDevices: 20 });
      return inOrder.map((each) => register(each));
    });
    const [ours, theirs] = await Promise.all(replicas.map((each) => Promise.all(each)));
    expect(statements).toBe(2);
    expect(ours).toEqual(theirs!.toReversed());
    for (const [i, device] of ours!.entries()) {
      expect(device).toMatchObject({ id: asked[i]!.deviceId, attributes: asked[i]!.attributes });
      expect(await eventsOf(device.accountId)).toHaveLength(1);
    }
  });

  it("leaves an account with a device as it is where the device would be its first", async () => {
    const { register, list } = commands();
    const device = await register(someRegistration(accountId));
    const store = postgresDeviceStore(prisma, postgres);
    const other = { ...device, id: v7(), publicKey: someRegistration(accountId).publicKey };
    const event = { type: "device-registered" as const, device: other, occurredAt: clock.now(), requestId: "" };
    expect(await store.insertFirst(event)).toBe(false);
    // Of a version before the lock, or restored without it.
    const onSeveralNodes = postgresDeviceStore(prisma, { ...postgres, isDistributed: async () => true });
    for (const each of [store, onSeveralNodes]) {
      await prisma.accountLock.deleteMany({ where: { accountId } });
      expect(await each.insertFirst(event)).toBe(false);
    }
    expect(await list(accountId)).toEqual([device]);
    expect(await eventsOf(accountId)).toHaveLength(1);
  });

  it("reads and changes devices of its account alone, removed ones apart", async () => {
    const { register } = commands();
    const store = postgresDeviceStore(prisma, postgres);
    const command = someRegistration(accountId);
    const key = command.publicKey.publicKey;
    const live = await register(command);
    const row = await prisma.device.findUniqueOrThrow({ where: { id: live.id } });
    // Versions before registered a removed key again.
    const removed = [v7(), v7()];
    for (const [ms, id] of removed.entries())
      await prisma.device.create({ data: { ...row, id, removedAt: new Date(clock.now().getTime() + ms) } });
    const looked = (account: string) =>
      store.withAccount(account, async (devices) => [
        (await devices.findRemoved(key))?.id,
        (await devices.listLive()).map(({ id }) => id),
      ]);
    expect(await looked(accountId)).toEqual([removed[1], [live.id]]);
    expect(await looked(v7())).toEqual([undefined, []]);
    const happened = { occurredAt: clock.now(), requestId: "" };
    const registered = { type: "device-registered", device: { ...live, id: v7() }, ...happened } as const;
    const before = await eventsOf(accountId);
    expect(await store.withAccount(accountId, (devices) => devices.insert(registered))).toBe(false);
    const updated = { type: "device-updated", device: live, ...happened } as const;
    await expect(store.withAccount(v7(), (devices) => devices.update(updated))).rejects.toThrow();
    expect(await eventsOf(accountId)).toEqual(before);
  });

  it("lets one of two accounts have a device id", async () => {
    const { register } = commands();
    const command = someRegistration(accountId);
    const other = { ...someRegistration(v7()), deviceId: command.deviceId };
    const results = await Promise.allSettled([register(command), register(other)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = results.find((result) => result.status === "rejected");
    expect(refused?.reason).toMatchObject({ reason: "DeviceConflict" });
  });

  it("keeps the limit of twenty among 25 registrations at once", async () => {
    const { register, list } = commands();
    const results = await Promise.allSettled(Array.from({ length: 25 }, () => register(someRegistration(accountId))));
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused).toHaveLength(5);
    for (const { reason } of refused) expect(reason).toMatchObject({ reason: "TooManyDevices" });
    expect(await list(accountId)).toHaveLength(20);
    expect(await eventsOf(accountId)).toHaveLength(20);
  });

  it("lists the most recently used first, whose time never moves back", async () => {
    const { register, list, note } = commands();
    const first = await register(someRegistration(accountId));
    clock.advance(1000);
    const second = await register(someRegistration(accountId));
    clock.advance(1000);
    const usedAt = clock.now();
    await note({ accountId, publicKey: first.publicKey, usedAt });
    await note({ accountId, publicKey: first.publicKey, usedAt: new Date(usedAt.getTime() - 500) });
    await note({ accountId: v7(), publicKey: second.publicKey, usedAt });
    const listed = await list(accountId);
    expect(listed.map(({ id, lastUsedAt }) => ({ id, lastUsedAt }))).toEqual([
      { id: first.id, lastUsedAt: usedAt },
      { id: second.id, lastUsedAt: second.createdAt },
    ]);
  });

  it("says when a live device was registered, of that account and key alone, and notes no other use", async () => {
    const { register } = commands();
    const { touch } = postgresDeviceStore(prisma, postgres);
    const first = await register(someRegistration(accountId));
    clock.advance(1000);
    const [second, removed, other] = await Promise.all(
      [accountId, accountId, v7()].map((account) => register(someRegistration(account))),
    );
    await prisma.device.update({ where: { id: removed!.id }, data: { removedAt: clock.now() } });
    clock.advance(1000);
    const touched = await Promise.all([
      touch(accountId, first.publicKey, clock.now()),
      touch(accountId, { ...second!.publicKey, algorithm: "ES256K" }, clock.now()),
      touch(accountId, removed!.publicKey, clock.now()),
      touch(accountId, other!.publicKey, clock.now()),
      touch(other!.accountId, second!.publicKey, clock.now()),
    ]);
    expect(touched).toEqual([first.createdAt, undefined, undefined, undefined, undefined]);
    const where = { accountId: { in: [accountId, other!.accountId] }, lastUsedAt: clock.now() };
    const used = await prisma.device.findMany({ where });
    expect(used.map(({ id }) => id)).toEqual([first.id]);
  });

  it("changes what is present, and only of the session's account", async () => {
    const { register, update, list } = commands();
    const own = await register(someRegistration(accountId));
    const outsider = await register(someRegistration(v7()));
    const session = { accountId, deviceKey: own.publicKey };
    const changes = { name: "Nörd’s 📱", pushToken: "p".repeat(4096), lang: "" };
    await update({ session, publicKey: own.publicKey.publicKey, changes, requestId: "update" });
    expect(await list(accountId)).toEqual([{ ...own, attributes: { ...someAttributes, ...changes } }]);
    expect((await eventsOf(accountId)).map(({ subject }) => subject.split(".").at(-1))).toEqual([
      "device-registered",
      "device-updated",
    ]);

    const other = update({ session, publicKey: outsider.publicKey.publicKey, changes: { name: "x" }, requestId: "x" });
    await expect(other).rejects.toMatchObject({ reason: "DeviceNotFound" });
    expect(await list(outsider.accountId)).toEqual([outsider]);
  });

  it("lets one of two old devices win that remove each other at once", async () => {
    const { register, remove, list } = commands();
    const devices = [await register(someRegistration(accountId)), await register(someRegistration(accountId))];
    clock.advance(YOUNG_DEVICE_MS);
    const byEachOther = devices.map((caller, index) =>
      remove({
        session: { accountId, deviceKey: caller.publicKey },
        publicKey: devices[1 - index]!.publicKey.publicKey,
        access: undefined,
        requestId: "test",
      }),
    );
    const results = await Promise.allSettled(byEachOther);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await list(accountId)).toHaveLength(1);
  });

  it("keeps one of two devices that each remove themselves at once", async () => {
    const { register, remove, list } = commands();
    const devices = [await register(someRegistration(accountId)), await register(someRegistration(accountId))];
    const deviceKeys = devices.map(({ publicKey }) => publicKey);
    const bySelf = deviceKeys.map((deviceKey) =>
      remove({
        session: { accountId, deviceKey },
        publicKey: deviceKey.publicKey,
        access: [{ deviceKeys, recoveryKey: false }],
        requestId: "test",
      }),
    );
    const results = await Promise.allSettled(bySelf);
    const refused = results.flatMap((each) => (each.status === "rejected" ? [each.reason.reason] : []));
    expect(refused).toEqual(["LastDevice"]);
    expect(await list(accountId)).toHaveLength(1);
  });

  it("removes once, emits once; a registration that began before brings the key back no more, one after it does", async () => {
    const { register, remove, list } = commands();
    const command = { ...someRegistration(accountId), deviceId: uuidv7(clock) };
    const underWay = uuidv7(clock);
    clock.advance(1);
    const device = await register(command);
    const removal = {
      session: { accountId, deviceKey: device.publicKey },
      publicKey: device.publicKey.publicKey,
      access: [],
      requestId: "test",
    };
    const [first, second] = await Promise.all([remove(removal), remove(removal)]);
    expect(first).toEqual(second);
    expect(await list(accountId)).toEqual([]);
    const events = (await eventsOf(accountId)).map(({ event }) => event.deviceRemoved?.deviceId).filter(Boolean);
    expect(events).toEqual([device.id]);

    // A sign-up for a further network was under way, with another id for the device.
    for (const deviceId of [command.deviceId, underWay])
      expect(await register({ ...command, deviceId })).toEqual(first);
    expect(await list(accountId)).toEqual([]);
    expect(await eventsOf(accountId)).toHaveLength(2);
    clock.advance(1);
    const again = await register({ ...command, deviceId: uuidv7(clock) });
    expect(await list(accountId)).toEqual([again]);
  });
});
