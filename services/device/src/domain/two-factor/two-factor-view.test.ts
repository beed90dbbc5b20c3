import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { memoryDeviceStore } from "../../testing/memory-device-store.ts";
import { memoryTwoFactorStore } from "../../testing/memory-two-factor-store.ts";
import { type Registered, twoFactorWorld } from "../../testing/two-factor-world.ts";
import type { Device } from "../devices/device.ts";
import type { TwoFactor } from "./two-factor.ts";
import { viewIn } from "./two-factor-view.ts";

const withToken = (device: Device, pushToken: string): Device => ({
  ...device,
  attributes: { ...device.attributes, pushToken },
});

describe("the push tokens of a request", () => {
  let asked: TwoFactor;
  let dest: Registered;
  let other: Registered;
  let live: Device[];
  beforeEach(async () => {
    const world = twoFactorWorld({ requests: memoryTwoFactorStore(), devices: memoryDeviceStore() });
    const accountId = v7();
    other = await world.device(accountId);
    world.clock.advance(1000);
    dest = await world.device(accountId);
    asked = (await world.open(world.enrollmentRequest(accountId))).request;
    asked = { ...asked, userKey: { ...asked.userKey, device: { ...asked.userKey.device, pushToken: "sent" } } };
    live = [withToken(other.device, "other's"), withToken(dest.device, "dest's")];
  });
  const seenBy = (viewer: Parameters<typeof viewIn>[2]) => viewIn(live, asked, viewer).pushTokens;

  it("are shown to the device whose own they are", () => {
    expect(seenBy(asked.userKey.deviceKey)).toEqual({ src: "sent", dest: "" });
    expect(seenBy(dest.keys.publicKey)).toEqual({ src: "", dest: "dest's" });
  });

  it("are shown neither to another device of the account nor where no device looks", () => {
    expect(seenBy(other.keys.publicKey)).toEqual({ src: "", dest: "" });
    expect(seenBy(undefined)).toEqual({ src: "", dest: "" });
  });

  it("are the registered device's, once it is registered", () => {
    const registered = { ...other.device, id: v7(), publicKey: asked.userKey.deviceKey };
    live = [withToken(registered, "newer"), ...live];
    expect(seenBy(asked.userKey.deviceKey)).toEqual({ src: "newer", dest: "" });
  });

  it("are none of a device that was removed", () => {
    live = live.filter(({ id }) => id !== asked.destDeviceId);
    expect(viewIn(live, asked, dest.keys.publicKey)).toMatchObject({ destDevice: null, pushTokens: { dest: "" } });
  });
});
