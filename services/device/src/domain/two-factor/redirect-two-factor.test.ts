import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { type MemoryTwoFactorStore, memoryTwoFactorStore } from "../../testing/memory-two-factor-store.ts";
import {
  LIFE_MS,
  type Registered,
  refused,
  type TwoFactorWorld,
  twoFactorWorld,
} from "../../testing/two-factor-world.ts";
import type { TwoFactor } from "./two-factor.ts";

describe("redirectTwoFactor and rejectTwoFactor", () => {
  let world: TwoFactorWorld;
  let store: MemoryTwoFactorStore;
  let accountId: string;
  let old: Registered;
  let other: Registered;
  let asked: TwoFactor;
  const of = () => ({ session: old.session, twoFactorId: asked.id, requestId: "test" });
  const redirect = (destDeviceId: string) => world.redirect({ ...of(), destDeviceId });

  beforeEach(async () => {
    store = memoryTwoFactorStore();
    world = twoFactorWorld({ requests: store, devices: memoryDeviceStore() });
    accountId = v7();
    other = await world.device(accountId);
    world.clock.advance(1000);
    old = await world.device(accountId);
    asked = (await world.open(world.enrollmentRequest(accountId))).request;
  });

  it("asks another device under a new request id, and gives no more time", async () => {
    world.chain.renew();
    world.clock.advance(1000);
    const { request, destDevice } = await redirect(other.device.id);
    expect(destDevice).toEqual(other.device);
    expect(request.messageId).not.toBe(asked.messageId);
    expect(request.message).not.toEqual(asked.message);
    expect(request).toMatchObject({ expiresAt: asked.expiresAt, requestedAt: asked.requestedAt, status: "pending" });
    expect(store.events.map(({ status }) => status)).toEqual(["pending", "pending"]);
  });

  it("goes through a renewal at the same moment, and without the chain", async () => {
    world.chain.renew();
    const [, redirected] = await Promise.all([world.get(of()), redirect(other.device.id)]);
    expect(redirected.request.destDeviceId).toBe(other.device.id);
    world.chain.down = true;
    expect((await redirect(old.device.id)).request.destDeviceId).toBe(old.device.id);
  });

  it("gives up after five renewals at the same moment", async () => {
    let steps = 0;
    store.take = async () => {
      steps += 1;
      return undefined;
    };
    await expect(redirect(other.device.id)).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    expect(steps).toBe(5);
  });

  it("asks others ten times: each time the message that an approver has read becomes an earlier one", async () => {
    for (let index = 0; index < 10; index++) await redirect(other.device.id);
    const limited = { reason: "RateLimited", retryAfterSeconds: LIFE_MS / 1000 };
    await expect(redirect(other.device.id)).rejects.toMatchObject(limited);
    await world.sign(old, asked.id, asked.message);
    expect(store.rows.get(asked.id)?.status).toBe("approved");
  });

  it("knows the account's devices only", async () => {
    const outsider = await world.device(v7());
    await expect(redirect(outsider.device.id)).rejects.toMatchObject(refused("DeviceNotFound"));
    await expect(redirect(asked.srcDeviceId)).rejects.toMatchObject(refused("DeviceNotFound"));
  });

  it("rejects for good", async () => {
    await world.reject(of());
    expect(store.rows.get(asked.id)).toMatchObject({ status: "rejected", rejectedAt: world.clock.now() });
    const notPending = refused("TwoFactorAuthNotPending");
    await expect(redirect(other.device.id)).rejects.toMatchObject(notPending);
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(notPending);
    world.clock.advance(LIFE_MS);
    await world.sweep();
    expect(store.events.map(({ status }) => status)).toEqual(["pending", "rejected"]);
  });

  it("waits for an approval that is under way, and rejects once it came to nothing", async () => {
    world.chain.submission = "SigningRefused";
    const approval = world.sign(old, asked.id, asked.message);
    await new Promise((resolve) => process.nextTick(resolve));
    const early = await world.reject(of()).catch((error) => error);
    expect(early).toMatchObject({ reason: "TwoFactorAuthNotPending", retryAfterSeconds: 1 });
    await expect(approval).rejects.toMatchObject(refused("SigningRefused"));
    await world.reject(of());
    expect(store.rows.get(asked.id)?.status).toBe("rejected");
  });

  it("cannot reject what turns out to have been submitted", async () => {
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    await expect(world.reject(of())).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    expect(store.rows.get(asked.id)?.status).toBe("approved");
  });
});
