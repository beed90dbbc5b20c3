import { describe, expect, expectTypeOf, it } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import type { AccountEvent } from "./events.ts";
import { ConnectionError } from "./http.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { ProblemError, type ProblemReason } from "./problem-error.ts";
import { RETRY_RULES } from "./retry.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";

const deviceKey = generateDeviceKey();
const credentials = { accessToken: "access-1", refreshToken: "refresh-1" };
const login = { method: "id_token_channel", token: "id-token" } as const;
const chainName = "flow-emulator";
const lost = new TypeError("fetch failed");
/** The error of a call whose answers were lost. */
const noConnection = expect.objectContaining({ name: "ConnectionError", cause: lost });
const unavailable: Answer = [503, { error: "Unavailable" }];

type Call = (client: CountersignClient) => Promise<unknown>;

/** Returns how often a call was sent before it ended, and how it ended. */
async function sent(call: Call, ...answers: Answer[]) {
  const { seen, fetch } = fakeServer(...answers);
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, credentials });
  const error = await call(client).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { count: seen.length, error };
}

describe("a request whose answer was lost", () => {
  it.each<[string, Call]>([
    ["reading", (client) => client.devices()],
    ["freezing", (client) => client.freeze()],
    ["a sign-up with an idempotency key", (client) => client.signUp({ login, chainName, idempotencyKey: "once" })],
  ])("is sent again: %s", async (_, call) => {
    expect(await sent(call, lost, unavailable, [200, { devices: [], credentials }])).toEqual({ count: 3 });
    expect(await sent(call, lost, lost, lost, [200, {}])).toEqual({ count: 3, error: noConnection });
  });

  it.each([502, 503, 504, 520, 522, 524])("is sent again after %i, of the service or a proxy", async (status) => {
    expect(await sent((client) => client.devices(), [status], [200, { devices: [] }])).toEqual({ count: 2 });
  });

  it("is sent again where fetch has errors of its own, as Expo's", async () => {
    const expos = new Error("fetch failed: Unable to resolve host");
    expect(await sent((client) => client.devices(), expos, [200, { devices: [] }])).toEqual({ count: 2 });
    const { error } = await sent((client) => client.signTransaction("00"), expos);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toMatchObject({ name: "ConnectionError", cause: expos });
  });

  it("rejects with the address, the platform's words, and what else keeps a browser from connecting", async () => {
    const { error } = await sent((client) => client.signTransaction("00"), lost);
    expect((error as Error).message).toBe(
      "no connection to http://gateway.test (fetch failed): no network, no service at this baseUrl, " +
        "or a page whose origin the service does not allow",
    );
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toBeInstanceOf(TypeError);
    // An app's own mistake is no matter of the connection.
    const { error: own } = await sent((client) => client.signTransaction(7n as never));
    expect(own).toMatchObject({ name: "TypeError" });
  });

  it.each<[string, Call]>([
    ["a signature", (client) => client.signTransaction("00")],
    ["a sign-up without a key", (client) => client.signUp({ login, chainName })],
    ["an answer to a challenge", (client) => client.respondChallenge({ challengeData: "00".repeat(16) })],
    ["an approval", (client) => client.approveTwoFactor("id", { txId: "00" })],
    ["a request to lift a freeze", (client) => client.unfreeze()],
  ])("is not sent again: %s", async (_, call) => {
    expect(await sent(call, lost, [200, {}])).toEqual({ count: 1, error: noConnection });
    expect((await sent(call, unavailable, [200, {}])).count).toBe(1);
  });

  it.each<[number, string]>([
    [400, "InvalidRequest"],
    [404, "KeyNotFound"],
    [409, "LastDevice"],
    [429, "RateLimited"],
    [500, "Internal"],
    [501, "NotImplemented"],
  ])("is not sent again after %i", async (status, error) => {
    const { count } = await sent((client) => client.removeDevice("ab"), [status, { error }], [204]);
    expect(count).toBe(1);
  });

  it("that removes has removed where the second one finds nothing; the first one's 404 is an error", async () => {
    const remove: Call = (client) => client.removeDevice("ab");
    const gone: Answer = [404, { error: "DeviceNotFound" }];
    expect(await sent(remove, lost, gone)).toEqual({ count: 2 });
    expect((await sent(remove, gone)).error).toMatchObject({ error: "DeviceNotFound" });
  });

  it("waits as long as the server asks, unless that is too long for a person", async () => {
    const { count, error } = await sent(
      (client) => client.devices(),
      [503, { error: "Unavailable" }, { "retry-after": "60" }],
    );
    expect(count).toBe(1);
    expect(error).toMatchObject({ status: 503 });
  });

  it("has a rule for each operation", () => {
    expect(new Set(Object.values(RETRY_RULES))).toEqual(
      new Set(["repeat", "remove", "refresh", "with-key", "wait", "once"]),
    );
  });
});

it("no request follows a redirect, which would take tokens to another server", async () => {
  const redirects: unknown[] = [];
  const fetch = async (_url: unknown, init?: RequestInit) => {
    redirects.push(init?.redirect);
    return Response.json({ error: "SessionEnded" }, { status: 401 });
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, credentials });
  await expect(client.events().next()).rejects.toThrow("SessionEnded");
  await client.devices().catch(() => undefined);
  expect(redirects).toEqual(["error", "error"]);
});

describe("types", () => {
  it("know the closed list of reasons, and take others", () => {
    const isFrozen = (error: ProblemError) => error.error === "AccountFrozen";
    expect(isFrozen(new ProblemError(403, { error: "AccountFrozen" }, null))).toBe(true);
    expect(new ProblemError(418, { error: "OfALaterServer" }, null).error satisfies ProblemReason).toBe(
      "OfALaterServer",
    );
    // Only a literal of the list is offered by an editor; `string & {}` keeps the list from being swallowed.
    expectTypeOf<"AccountFrozen">().toExtend<ProblemReason>();
    expectTypeOf<string>().toExtend<ProblemReason>();
    expectTypeOf<Extract<ProblemReason, "NoSuchReason">>().toBeNever();
    expectTypeOf<Extract<ProblemReason, "TimeLockRequired">>().toEqualTypeOf<"TimeLockRequired">();
  });

  it("narrow an event's data by its type", () => {
    const describeEvent = (event: AccountEvent): string => {
      switch (event.type) {
        case "device.updated":
          // @ts-expect-error: of another type of event
          event.data.keyIndex;
          return `${event.data.deviceId} ${event.data.change}`;
        case "key.added":
          return String(event.data.keyIndex);
        case "session.ended":
          return event.data.cause;
        case "unknown":
          return event.name;
        default:
          return event.id;
      }
    };
    const occurredAt = "2026-11-23T12:00:00.000Z";
    const data = { occurredAt, deviceId: "d", change: "changed" } as const;
    expect(describeEvent({ id: "1", type: "device.updated", data })).toBe("d changed");
    expect(describeEvent({ id: "1", type: "unknown", name: "of.tomorrow", data: {} })).toBe("of.tomorrow");
  });
});
