import { AppError } from "@countersign/core";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { type MemoryTwoFactorStore, memoryTwoFactorStore } from "../../testing/memory-two-factor-store.ts";
import {
  LIFE_MS,
  type Registered,
  refused,
  type TwoFactorWorld,
  twoFactorWorld,
} from "../../testing/two-factor-world.ts";
import { updateDevice } from "../devices/update-device.ts";
import { REJECTION_COUNTS_MS } from "./open-two-factor.ts";

describe("openTwoFactor", () => {
  let world: TwoFactorWorld;
  let store: MemoryTwoFactorStore;
  let accountId: string;
  let old: Registered;
  const open = (changes: Parameters<TwoFactorWorld["enrollmentRequest"]>[1] = {}) =>
    world.open(world.enrollmentRequest(accountId, changes));
  const rejectOne = async (inRecovery = false) => {
    const { request } = await open();
    await world.reject({ session: old.session, twoFactorId: request.id, requestId: "test", inRecovery });
  };

  beforeEach(async () => {
    store = memoryTwoFactorStore();
    world = twoFactorWorld({ requests: store, devices: memoryDeviceStore() });
    accountId = v7();
    old = await world.device(accountId);
  });

  it("names the device used last, and shows the new device", async () => {
    world.clock.advance(1000);
    const young = await world.device(accountId);
    const command = world.enrollmentRequest(accountId);
    const { request, destDevice } = await world.open(command);
    expect(destDevice).toEqual(young.device);
    expect(request).toMatchObject({
      id: command.id,
      status: "pending",
      userKey: command.userKey,
      expiresAt: command.expiresAt,
    });
    expect(request.requestedAt).toEqual(world.clock.now());
    expect(request.rejectedInRecovery).toBe(false);
    expect(store.events).toEqual([{ id: command.id, status: "pending" }]);
  });

  it("locates the new device itself", async () => {
    expect((await open()).request.signIn.location).toBe("Bern, Switzerland");
    const signIn = { email: "", ip: "198.51.100.1", location: "Somewhere nice" };
    expect((await open({ signIn })).request.signIn).toEqual({ ...signIn, location: "" });
  });

  it("never names the new device, nor any where the account has none", async () => {
    const { userKey } = world.enrollmentRequest(accountId);
    const { destDevice } = await open({ userKey: { ...userKey, deviceKey: old.keys.publicKey } });
    expect(destDevice).toBeNull();
    expect((await world.open(world.enrollmentRequest(v7()))).destDevice).toBeNull();
  });

  it("shows the push token that came along, and none of a device whose key was only claimed", async () => {
    const update = updateDevice({ store: world.devices, clock: world.clock });
    const { session, device } = old;
    const changes = { pushToken: "registered" };
    await update({ session, publicKey: device.publicKey.publicKey, changes, requestId: "test" });
    const { userKey } = world.enrollmentRequest(accountId);
    const claimed = { ...userKey, device: { ...userKey.device, pushToken: "sent" }, deviceKey: old.keys.publicKey };
    const command = world.enrollmentRequest(accountId, { userKey: claimed });
    for (let times = 0; times < 2; times++) {
      expect((await world.open(command)).pushTokens).toEqual({ src: "sent", dest: "" });
    }
  });

  it("gives the same request for the same id, in any later state", async () => {
    const command = world.enrollmentRequest(accountId);
    const first = await world.open(command);
    world.chain.renew();
    expect(await world.open(command)).toEqual(first);
    world.clock.advance(LIFE_MS);
    expect((await world.open(command)).request.status).toBe("expired");
    await expect(world.open({ ...command, accountId: v7() })).rejects.toMatchObject(refused("InvalidRequest"));
  });

  it("gives the same request to two calls at once", async () => {
    const command = world.enrollmentRequest(accountId);
    const [first, second] = await Promise.all([world.open(command), world.open(command)]);
    expect(second).toEqual(first);
    expect(store.events).toEqual([{ id: command.id, status: "pending" }]);
  });

  it("lets five wait, and says when the first of them is over", async () => {
    for (let index = 0; index < 5; index++) {
      await open();
      world.clock.advance(1000);
    }
    await expect(open()).rejects.toMatchObject({ reason: "RateLimited", retryAfterSeconds: LIFE_MS / 1000 - 5 });
    world.clock.advance(LIFE_MS - 5000);
    await expect(open()).resolves.toMatchObject({ request: { status: "pending" } });
    await expect(world.open(world.enrollmentRequest(v7()))).resolves.toBeDefined();
  });

  it("has five more places for requests of a recovery session: a thief's login fills the others for as long as it goes on", async () => {
    for (let index = 0; index < 5; index++) await open();
    await expect(open({ recovering: true })).rejects.toMatchObject(refused("RateLimited"));
    for (let index = 0; index < 5; index++) await open({ recovering: true, byRecoverySession: true });
    await expect(open({ recovering: true, byRecoverySession: true })).rejects.toMatchObject(refused("RateLimited"));
    world.clock.advance(LIFE_MS);
    await expect(open()).resolves.toMatchObject({ request: { status: "pending" } });
  });

  it("opens nothing where the device limit is reached, unless the device is one of them", async () => {
    for (let index = 1; index < 20; index++) await world.device(accountId);
    await expect(open()).rejects.toMatchObject(refused("TooManyDevices"));
    expect(store.rows.size).toBe(0);
    const prepared = vi.spyOn(world.chain, "prepare");
    await open({ recovering: true });
    expect(prepared.mock.calls[0]![0]).toMatchObject({ recovering: true });
    const { userKey } = world.enrollmentRequest(accountId);
    await expect(open({ userKey: { ...userKey, deviceKey: old.keys.publicKey } })).resolves.toBeDefined();
    await expect(world.open(world.enrollmentRequest(v7()))).resolves.toBeDefined();
  });

  it("passes on that the account has its most keys", async () => {
    world.chain.prepare = async () => {
      throw new AppError("TooManyKeys");
    };
    await expect(open()).rejects.toMatchObject(refused("TooManyKeys"));
    expect(store.rows.size).toBe(0);
  });

  it("is closed for a day after three rejections", async () => {
    for (let index = 0; index < 3; index++) await rejectOne();
    await expect(open()).rejects.toMatchObject(refused("TwoFactorAuthClosed"));
    world.clock.advance(REJECTION_COUNTS_MS - 1);
    // The chain is not asked.
    world.chain.down = true;
    await expect(open()).rejects.toMatchObject(refused("TwoFactorAuthClosed"));
    world.clock.advance(1);
    world.chain.down = false;
    await expect(open()).resolves.toBeDefined();
  });

  it("is not closed by what a recovery session rejects", async () => {
    for (let index = 0; index < 4; index++) await rejectOne(true);
    for (let index = 0; index < 2; index++) await rejectOne();
    await expect(open()).resolves.toBeDefined();
    await rejectOne();
    await expect(open()).rejects.toMatchObject(refused("TwoFactorAuthClosed"));
  });

  it("is open to the recovery key's owner after any rejections by a device, within the limit of waiting requests", async () => {
    for (let index = 0; index < 3; index++) await rejectOne();
    await expect(open()).rejects.toMatchObject(refused("TwoFactorAuthClosed"));
    for (let index = 0; index < 5; index++) await expect(open({ recovering: true })).resolves.toBeDefined();
    await expect(open({ recovering: true })).rejects.toMatchObject(refused("RateLimited"));
  });

  it("is reopened by a device, until three more are rejected", async () => {
    for (let index = 0; index < 3; index++) await rejectOne();
    world.clock.advance(1000);
    await world.reopen({ session: old.session });
    world.clock.advance(1000);
    for (let index = 0; index < 3; index++) await rejectOne();
    await expect(open()).rejects.toMatchObject(refused("TwoFactorAuthClosed"));
  });

  it.each([0, -1000, 2 * 60 * 60 * 1000])("takes no end that is %s ms away", async (ms) => {
    const expiresAt = new Date(world.clock.now().getTime() + ms);
    await expect(open({ expiresAt })).rejects.toMatchObject({ fields: [{ pointer: "/expiresAt" }] });
  });

  it("takes an end that is an hour away", async () => {
    const expiresAt = new Date(world.clock.now().getTime() + 60 * 60 * 1000);
    await expect(open({ expiresAt })).resolves.toMatchObject({ request: { expiresAt } });
  });

  it("makes no request without a message", async () => {
    world.chain.down = true;
    await expect(open()).rejects.toMatchObject(refused("ChainUnavailable"));
    expect(store.rows.size).toBe(0);
  });
});
