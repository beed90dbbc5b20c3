import { FixedClock } from "@countersign/core/testing";
import { createLogger } from "@countersign/runtime";
import { beforeEach, describe, expect, it } from "vitest";
import type { Device } from "../domain/devices/device.ts";
import { someAttributes, somePublicKey } from "../testing/samples.ts";
import { type PushAdapter, PushDelayed, type PushMessage, PushRefused } from "./push-adapter.ts";
import { adapterFor, pushDevices } from "./push-devices.ts";
import { withRetries } from "./with-retries.ts";

const clock = new FixedClock();
const logger = createLogger({ name: "test", level: "silent" });
const accountId = "019a0000-0000-7000-8000-000000000001";
const apnsToken = "ab".repeat(32);

let sent: PushMessage[];
let cleared: [string, string][];
let delivered: Set<string>;
let outcome: (message: PushMessage) => "sent" | "rejected";

const adapter: PushAdapter = {
  async send(message) {
    const result = outcome(message);
    sent.push(message);
    return result;
  },
  close: async () => undefined,
};
const deviceWith = (id: string, pushToken: string): Device => ({
  id,
  accountId,
  publicKey: somePublicKey(),
  attributes: { ...someAttributes, pushToken },
  createdAt: clock.now(),
  lastUsedAt: clock.now(),
  removedAt: null,
});
const push = () =>
  pushDevices({
    adapters: { fcm: adapter, apns: adapter },
    tokens: { clearPushToken: async (id, token) => void cleared.push([id, token]) },
    deliveries: {
      has: async ({ eventId, target }) => delivered.has(`${eventId} ${target}`),
      note: async ({ eventId, target }) => void delivered.add(`${eventId} ${target}`),
    },
    clock,
    logger,
  });
const event = {
  eventId: "e",
  accountId,
  kind: "two-factor.requested" as const,
  twoFactorId: "t",
  collapseKey: "t",
  expiresAt: new Date(clock.now().getTime() + 1_000),
  visibleTo: ({ id }: Device) => id === "one",
};

beforeEach(() => {
  sent = [];
  cleared = [];
  delivered = new Set();
  outcome = () => "sent";
});

describe("pushing an event", () => {
  const devices = () => [deviceWith("one", "fcm"), deviceWith("two", apnsToken), deviceWith("three", "")];

  it("pushes once to each device with a token, visibly to one", async () => {
    await push()(devices(), event);
    expect(sent.map(({ pushToken, visible }) => [pushToken, visible])).toEqual([
      ["fcm", true],
      [apnsToken, false],
    ]);
    await push()(devices(), event);
    expect(sent).toHaveLength(2);
  });

  it("clears a rejected token, that very one", async () => {
    outcome = ({ pushToken }) => (pushToken === "fcm" ? "rejected" : "sent");
    await push()(devices(), event);
    expect(cleared).toEqual([["one", "fcm"]]);
  });

  it("is repeated for those only that could not be reached", async () => {
    outcome = ({ pushToken }) => {
      if (pushToken === "fcm") throw new PushDelayed("away");
      return "sent";
    };
    await expect(push()(devices(), event)).rejects.toThrow("away");
    outcome = () => "sent";
    await push()(devices(), event);
    expect(sent.map(({ pushToken }) => pushToken)).toEqual([apnsToken, "fcm"]);
  });

  it("gives up what will never be taken, and what is too late", async () => {
    outcome = () => {
      throw new PushRefused("no");
    };
    await push()(devices(), event);
    outcome = () => "sent";
    await push()(devices(), event);
    await push()(devices(), { ...event, eventId: "late", expiresAt: clock.now() });
    expect(sent).toEqual([]);
  });
});

it.each([
  ["", undefined],
  [apnsToken, "apns"],
  [apnsToken.toUpperCase(), "apns"],
  [apnsToken.slice(1), "fcm"],
  [`${apnsToken}:`, "fcm"],
  ["cXyZ:APA91b", "fcm"],
])("chooses by the token's form: %j", (token, chosen) => {
  const [apns, fcm] = [{ ...adapter }, { ...adapter }];
  expect(adapterFor({ apns, fcm }, token)).toBe(chosen && { apns, fcm }[chosen as "apns"]);
  expect(adapterFor({}, token)).toBeUndefined();
});

describe("retries", () => {
  const message = { ...event, pushToken: "fcm", visible: true };
  const setUp = (...failures: (Error | undefined)[]) => {
    const moving = new FixedClock();
    const slept: number[] = [];
    let calls = 0;
    const failing: PushAdapter = {
      async send() {
        calls += 1;
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return "sent";
      },
      close: async () => undefined,
    };
    const sleep = async (milliseconds: number) => {
      slept.push(milliseconds);
      moving.advance(milliseconds);
    };
    return { retrying: withRetries(failing, { clock: moving, sleep }), slept, clock: moving, calls: () => calls };
  };

  it("come with growing pauses, three at most", async () => {
    const { retrying, slept } = setUp(new PushDelayed("1"), new PushDelayed("2"));
    expect(await retrying.send(message)).toBe("sent");
    expect(slept).toHaveLength(2);
    expect(slept[1]!).toBeGreaterThan(slept[0]! / 2);
    await expect(
      setUp(new PushDelayed("1"), new PushDelayed("2"), new PushDelayed("3")).retrying.send(message),
    ).rejects.toThrow("3");
  });

  it("do not come where it is no use", async () => {
    const { retrying, calls } = setUp(new PushRefused("no"));
    await expect(retrying.send(message)).rejects.toThrow("no");
    expect(calls()).toBe(1);
  });

  it("wait for a short Retry-After, and leave the service alone for a long one", async () => {
    const short = setUp(new PushDelayed("1", { retryAfterMs: 2_000 }));
    expect(await short.retrying.send(message)).toBe("sent");
    expect(short.slept.reduce((a, b) => a + b)).toBeGreaterThanOrEqual(2_000);

    const long = setUp(new PushDelayed("1", { retryAfterMs: 60_000 }));
    await expect(long.retrying.send(message)).rejects.toThrow("1");
    await expect(long.retrying.send(message)).rejects.toMatchObject({ retryAfterMs: 60_000 });
    expect(long.calls()).toBe(1);
    long.clock.advance(60_000);
    expect(await long.retrying.send(message)).toBe("sent");
  });
});
