import { describe, expect, it, vi } from "vitest";
import { type ClientOptions, CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { ProblemError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";
import { nextState, type SessionState, type SessionStep } from "./session-state.ts";
import { type Answer, fakeServer } from "./testing/fake-server.ts";

const deviceKey = generateDeviceKey();
const login = { method: "id_token_channel", token: "id-token" } as const;
const chainName = "flow-emulator";
const sid = "019a0000-0000-7000-8000-000000000009";

const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
const credentials = { accessToken: jwt({ sid }), refreshToken: "refresh-1" };
const signedIn: Answer = [200, { account: {}, transaction: {}, credentials }];

function setUp(options: Partial<ClientOptions>, ...answers: Answer[]) {
  const { seen, fetch } = fakeServer(...answers);
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, ...options });
  const states: SessionState[] = [client.session.state];
  const stop = client.session.subscribe(() => states.push(client.session.state));
  return { client, states, stop, seen };
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Answers with a stream of these events, which stays open. */
const eventStream = (...events: string[]) => ({
  eventTransport: async () => ({
    status: 200,
    header: () => null,
    text: (async function* () {
      yield* events;
      await new Promise(() => {});
    })(),
  }),
});

describe("the session's state", () => {
  it.each<[SessionState, SessionStep, SessionState]>([
    ["signed-out", "sign-in", "signing-in"],
    ["signed-out", "frozen", "signed-out"],
    ["signing-in", "opened", "signed-in"],
    ["signing-in", "sign-in-failed", "signed-out"],
    ["signed-in", "sign-in", "signed-in"],
    ["signed-in", "sign-in-failed", "signed-in"],
    ["signed-in", "frozen", "frozen"],
    ["signed-in", "unfrozen", "signed-in"],
    ["signed-in", "ended", "ended"],
    ["frozen", "unfrozen", "signed-in"],
    ["frozen", "signed-out", "signed-out"],
    ["frozen", "ended", "ended"],
    ["ended", "sign-in", "signing-in"],
    ["ended", "unfrozen", "ended"],
  ])("%s and then %s is %s", (state, step, next) => expect(nextState(state, step)).toBe(next));

  it("goes through a sign-in to a sign-out, and reports each change once", async () => {
    const { client, states, stop } = setUp(
      {},
      [200, { challengeData: "00".repeat(16) }],
      signedIn,
      [200, { devices: [] }],
      [204],
    );
    await client.signIn({ login, chainName });
    await client.devices();
    await client.signOut();
    expect(states).toEqual(["signed-out", "signing-in", "signed-in", "signed-out"]);
    stop();
    stop();
  });

  it("is kept and reported although a listener fails, whose error the platform reports", async () => {
    const kept: unknown[] = [];
    const { client } = setUp({ onCredentials: (pair) => kept.push(pair) }, signedIn);
    const reported: unknown[] = [];
    vi.stubGlobal("reportError", (error: unknown) => reported.push(error));
    const states: SessionState[] = [];
    const stop = client.session.subscribe(() => {
      stop();
      throw new Error("the app's mistake");
    });
    client.session.subscribe(() => states.push(client.session.state));
    await client.signUp({ login, chainName });
    expect([states, kept]).toEqual([["signing-in", "signed-in"], [credentials]]);
    expect(reported).toMatchObject([{ message: "the app's mistake" }]);
    vi.unstubAllGlobals();
  });

  it("is signed out again where a sign-in fails, and keeps a session that was open", async () => {
    const { client, states } = setUp({}, [409, { error: "AccountExists" }], signedIn, [
      409,
      { error: "AccountExists" },
    ]);
    expect(await errorOf(client.signUp({ login, chainName }))).toBeInstanceOf(ProblemError);
    expect(states).toEqual(["signed-out", "signing-in", "signed-out"]);
    await client.signUp({ login, chainName });
    expect(await errorOf(client.signUp({ login, chainName }))).toBeInstanceOf(ProblemError);
    expect(client.session.state).toBe("signed-in");
  });

  it("is ended where the service ends it, with its error until the next sign-in", async () => {
    const { client, states } = setUp({ credentials }, [401, { error: "SessionEnded" }], signedIn);
    const error = await errorOf(client.me());
    expect(client.session.endedBy).toBe(error);
    await client.signUp({ login, chainName });
    expect(client.session.endedBy).toBeUndefined();
    expect(states).toEqual(["signed-in", "ended", "signing-in", "signed-in"]);
  });

  it.each(["AccountFrozen", "AccountUnderReview"])(
    "is frozen after %s, until something is signed again",
    async (error) => {
      const { client, states } = setUp({ credentials }, [403, { error }], [200, { signature: {} }]);
      await errorOf(client.signTransaction("00"));
      await client.signTransaction("00");
      expect(states).toEqual(["signed-in", "frozen", "signed-in"]);
    },
  );

  it("follows the person's own freezing", async () => {
    const { client, states } = setUp({ credentials }, [204], [403, { error: "TimeLockRequired" }], [204]);
    await client.freeze();
    await errorOf(client.unfreeze());
    expect(client.session.state).toBe("frozen");
    await client.unfreeze();
    expect(states).toEqual(["signed-in", "frozen", "signed-in"]);
  });

  it("follows events: of the account, and of this session only", async () => {
    const event = (type: string, data: object) => `id: 1\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
    const { client, states } = setUp({
      credentials,
      ...eventStream(
        event("account.updated", { change: "frozen" }),
        event("account.updated", { change: "unfrozen" }),
        event("session.ended", { sessionId: "another", cause: "replaced" }),
        event("session.ended", { sessionId: sid, cause: "ended-by-user" }),
      ),
    });
    const seen: string[] = [];
    const error = await errorOf(
      (async () => {
        for await (const { type } of client.events()) seen.push(type);
      })(),
    );
    expect(seen).toEqual(["account.updated", "account.updated", "session.ended", "session.ended"]);
    expect(error).toMatchObject({ error: "SessionEnded" });
    expect(states).toEqual(["signed-in", "frozen", "signed-in", "ended"]);
    expect(client.credentials).toBeUndefined();
  });
});

const ended = () => Response.json({ error: "SessionEnded", status: 401 }, { status: 401 });

/**
 * A client that signs in: the answer waits for `succeed` or `fail`. `answerTo` answers all other calls, by
 * their access tokens.
 */
function signInSlowly(options: Partial<ClientOptions>, answerTo: (token: string) => Response) {
  const answer = Promise.withResolvers<Response>();
  const isAsked = Promise.withResolvers<void>();
  const fetch = async (input: unknown, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(String(input));
    if (pathname.endsWith("/challenge")) return Response.json({ challengeData: "00".repeat(16) });
    if (!pathname.endsWith("/respond")) return answerTo(new Headers(init!.headers).get("authorization")!.slice(7));
    isAsked.resolve();
    return answer.promise;
  };
  const { client, states } = setUp({ fetch: fetch as typeof globalThis.fetch, ...options });
  return {
    client,
    states,
    isAsked: isAsked.promise,
    signedIn: client.signIn({ login, chainName }),
    succeed: (pair: Credentials) => answer.resolve(Response.json({ account: {}, credentials: pair })),
    fail: () => answer.resolve(ended()),
  };
}

describe("a sign-in ends the device's session before", () => {
  const next = { accessToken: jwt({ sid: "019a0000-0000-7000-8000-000000000010" }), refreshToken: "refresh-2" };

  const signInAgain = (events: string[], options: Partial<ClientOptions> = {}) =>
    signInSlowly({ credentials, ...eventStream(...events), ...options }, (token) =>
      token === next.accessToken ? Response.json({ devices: [] }) : ended(),
    );
  const replaced = `id: 1\nevent: session.ended\ndata: ${JSON.stringify({ sessionId: sid, cause: "replaced" })}\n\n`;
  const renamed = 'id: 2\nevent: device.updated\ndata: {"deviceId":"d"}\n\n';

  it("its stream of events goes on, though the event comes before the answer", async () => {
    const { client, states, isAsked, signedIn, succeed } = signInAgain([replaced, renamed]);
    await isAsked;
    const seen: string[] = [];
    const following = (async () => {
      for await (const { type } of client.events()) {
        seen.push(type);
        if (type === "device.updated") return;
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(seen).toEqual([]);
    succeed(next);
    await Promise.all([signedIn, following]);
    expect(seen).toEqual(["session.ended", "device.updated"]);
    expect(states).toEqual(["signed-in"]);
  });

  it("calls with its tokens are repeated with the new ones", async () => {
    const { client, states, isAsked, signedIn, succeed } = signInAgain([]);
    await isAsked;
    const devices = client.devices();
    await new Promise((resolve) => setTimeout(resolve, 10));
    succeed(next);
    expect(await devices).toEqual([]);
    await signedIn;
    expect(states).toEqual(["signed-in"]);
  });

  it("they fail where the sign-in fails", async () => {
    const { client, states, isAsked, signedIn, fail } = signInAgain([replaced]);
    await isAsked;
    const devices = errorOf(client.devices());
    const events = errorOf(client.events().next());
    await new Promise((resolve) => setTimeout(resolve, 10));
    fail();
    expect(await errorOf(signedIn)).toMatchObject({ error: "SessionEnded" });
    expect(await devices).toMatchObject({ error: "SessionEnded" });
    expect(await events).toBeUndefined();
    expect(states).toEqual(["signed-in", "ended"]);
  });

  it("an event waits for it no longer than its reader, and the session stays", async () => {
    const { client, states, isAsked, signedIn, succeed } = signInAgain([replaced]);
    await isAsked;
    const reader = new AbortController();
    const reading = client.events({ signal: reader.signal }).next();
    await new Promise((resolve) => setTimeout(resolve, 10));
    reader.abort();
    expect(await reading).toMatchObject({ value: { type: "session.ended" } });
    expect(states).toEqual(["signed-in"]);
    succeed(next);
    await signedIn;
  });

  it("a sign-in whose dialog stays open is waited for a minute", async () => {
    vi.useFakeTimers();
    const isOpen = Promise.withResolvers<never>();
    const { client } = signInAgain([], { deviceKey: { ...deviceKey, sign: () => isOpen.promise } });
    const devices = errorOf(client.devices());
    let isWaiting = true;
    void devices.then(() => {
      isWaiting = false;
    });
    await vi.advanceTimersByTimeAsync(59_000);
    expect(isWaiting).toBe(true);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(await devices).toMatchObject({ error: "SessionEnded" });
    vi.useRealTimers();
  });
});

it("a call of one person is not repeated in the name of another, who signs in meanwhile", async () => {
  const pairOf = (sub: string) => ({ accessToken: jwt({ sub, sid: `session of ${sub}` }), refreshToken: sub });
  for (const call of ["freeze", "signOut"] as const) {
    const seen: string[] = [];
    const { client, isAsked, signedIn, succeed } = signInSlowly({ credentials: pairOf("ann") }, (token) => {
      const isOld = token === pairOf("ann").accessToken;
      seen.push(isOld ? "ann" : "bob");
      return isOld ? ended() : new Response(null, { status: 204 });
    });
    await isAsked;
    const called = errorOf(client[call]());
    await new Promise((resolve) => setTimeout(resolve, 10));
    succeed(pairOf("bob"));
    await signedIn;
    const error = await called;
    if (call === "freeze") expect(error).toMatchObject({ error: "SessionEnded" });
    expect(seen).toEqual(["ann"]);
    expect(client.credentials).toEqual(pairOf("bob"));
  }
});

it.each<[string, Response]>([
  ["a freeze", new Response(null, { status: 204 })],
  ["a refusal", Response.json({ error: "AccountFrozen" }, { status: 403 })],
])("%s of one person's account says nothing of another's, who has signed in since", async (_, answer) => {
  const pairOf = (sub: string) => ({ accessToken: jwt({ sub }), refreshToken: sub });
  const late = Promise.withResolvers<Response>();
  const fetch = async (input: unknown) => {
    const { pathname } = new URL(String(input));
    if (pathname.endsWith("/freeze")) return late.promise;
    return Response.json({ account: {}, challengeData: "00".repeat(16), credentials: pairOf("bob") });
  };
  const { client } = setUp({ fetch: fetch as typeof globalThis.fetch, credentials: pairOf("ann") });
  const freezing = errorOf(client.freeze());
  await client.signIn({ login, chainName });
  late.resolve(answer);
  await freezing;
  expect([client.session.accountId, client.session.state]).toEqual(["bob", "signed-in"]);
});

describe("a wrong clock", () => {
  const DAY_MS = 86_400_000;
  const serverTime = Date.parse("2026-11-23T12:00:00Z");
  const date = { date: new Date(serverTime).toUTCString() };

  it("is corrected when an answer begins, before its slow body", async () => {
    let local = serverTime;
    const fetch = async () => {
      const response = new Response('{"devices":[]}', { headers: date });
      const text = async () => {
        local += 5_000;
        return '{"devices":[]}';
      };
      return Object.assign(response, { text });
    };
    const { client } = setUp({ credentials, now: () => local, fetch });
    await client.devices();
    expect(client.clock.until(new Date(serverTime + 5_000).toISOString())).toBe(0);
  });

  it.each([-DAY_MS, DAY_MS])("of %i ms does not change when tokens expire and time locks end", async (offset) => {
    const exp = serverTime / 1_000 + 60;
    let local = serverTime + offset;
    const pair = { accessToken: jwt({ exp }), refreshToken: "refresh-1" };
    const next = { accessToken: jwt({ exp: exp + 900 }), refreshToken: "refresh-2" };
    const { client, seen } = setUp(
      { credentials: pair, now: () => local },
      [200, { devices: [] }, date],
      [200, { devices: [] }],
      [200, { credentials: next }],
      [200, { devices: [] }],
    );
    await client.devices();
    expect(client.clock.isKnown).toBe(true);
    expect(Math.abs(client.clock.now() - serverTime)).toBeLessThan(1_000);
    expect(Math.abs(client.clock.until("2026-11-23T12:00:05.000Z") - 5_000)).toBeLessThan(1_000);
    expect(client.clock.until("2026-11-23T11:00:00.000Z")).toBe(0);
    local += 58_000;
    await client.devices();
    expect(seen.map(({ path }) => path)).not.toContain("/auth/v1/token/refresh");
    local += 2_000;
    // Refreshed before it is sent, not after a refusal.
    await client.devices();
    expect(seen.map(({ path }) => path).slice(2)).toEqual(["/auth/v1/token/refresh", "/device/v1/devices"]);
  });

  it("is not corrected by guesses: before the first answer a token is sent as it is", async () => {
    const old = { accessToken: jwt({ exp: 1 }), refreshToken: "refresh-1" };
    const { client, seen } = setUp(
      { credentials: old },
      [200, { devices: [] }, { date: "no date" }],
      [200, { devices: [] }],
    );
    await client.devices();
    await client.devices();
    expect(client.clock.isKnown).toBe(false);
    expect(seen.map(({ path }) => path)).toEqual(["/device/v1/devices", "/device/v1/devices"]);
  });
});
