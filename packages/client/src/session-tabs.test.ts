import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, CountersignClient } from "./countersign-client.ts";
import { browserCredentials, type CredentialStore } from "./credential-store.ts";
import type { LockManager } from "./locks.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { SessionEndedError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";

const deviceKey = generateDeviceKey();
const baseUrl = "http://gateway.test";
const login = { method: "id_token_channel", token: "id-token" } as const;
const REPEAT_MS = 30_000;

/** A storage that tabs share, and that notifies the other tabs of a change, as a browser's does. */
function sharedStorage() {
  const values = new Map<string, string>();
  const tabs = new Set<() => void>();
  const tab = (name: string): CredentialStore => {
    let own: (() => void) | undefined;
    const store = browserCredentials({
      name,
      storage: {
        getItem: (key) => values.get(key) ?? null,
        setItem: (key, value) => void values.set(key, value),
        removeItem: (key) => void values.delete(key),
      },
    });
    return {
      ...store,
      save(credentials) {
        store.save(credentials);
        for (const listener of tabs) if (listener !== own) listener();
      },
      subscribe(listener) {
        own = listener;
        tabs.add(listener);
        return () => void tabs.delete(listener);
      },
    };
  };
  return { values, tab };
}

/**
 * Auth's part: single-use refresh tokens, whose last one may be repeated for 30 seconds; any other reuse ends
 * the session (docs/sessions.md).
 */
class FakeAuth {
  time = 0;
  current = 1;
  ended = false;
  /** Tokens below this number are of a session that a later one has replaced. */
  replacedBelow = 0;
  /** Access tokens below this number are expired. */
  expiredBelow = 0;
  /** Answers to refreshes that are lost on their way. */
  loseAnswers = 0;
  readonly refreshes: string[] = [];
  #lastUsedAt = 0;

  pair(number = this.current): Credentials {
    return { accessToken: `access-${number}`, refreshToken: `refresh-${number}` };
  }

  fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { pathname } = new URL(String(input));
    await new Promise((resolve) => setImmediate(resolve));
    const problem = (error: string) => Response.json({ error }, { status: 401 });
    if (pathname === "/auth/v1/token/refresh") {
      const { refreshToken } = JSON.parse(String(init?.body)) as Credentials;
      this.refreshes.push(refreshToken);
      const number = Number(refreshToken.split("-")[1]);
      const isRepeated = number === this.current - 1 && this.time - this.#lastUsedAt <= REPEAT_MS;
      if (this.ended) return problem("SessionEnded");
      if (number === this.current) {
        this.current += 1;
        this.#lastUsedAt = this.time;
      } else if (!isRepeated) {
        this.ended = true;
        return problem("RefreshTokenReused");
      }
      if (this.loseAnswers-- > 0) throw new TypeError("fetch failed");
      return Response.json({ credentials: this.pair() });
    }
    if (pathname === "/auth/v1/signout") return new Response(null, { status: 204 });
    if (pathname === "/auth/v1/signin/challenge") return Response.json({ challengeData: "00".repeat(16) });
    if (pathname === "/auth/v1/signin/challenge/respond") {
      this.ended = false;
      this.current += 10;
      this.replacedBelow = this.current;
      return Response.json({ account: {}, transaction: {}, credentials: this.pair() });
    }
    const number = Number(new Headers(init?.headers).get("authorization")?.split("-")[1]);
    if (this.ended || number < this.replacedBelow) return problem("SessionEnded");
    if (number < this.expiredBelow) return problem("AccessTokenExpired");
    return Response.json({ devices: [], keys: [], account: {} });
  };
}

function setUp(options: Partial<ClientOptions> = {}) {
  const auth = new FakeAuth();
  const storage = sharedStorage();
  const name = `session-${Math.random()}`;
  storage.values.set(name, JSON.stringify(auth.pair()));
  const newTab = (more: Partial<ClientOptions> = {}) =>
    new CountersignClient({ baseUrl, deviceKey, fetch: auth.fetch, store: storage.tab(name), ...options, ...more });
  return { auth, storage, name, newTab };
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

afterEach(() => {
  vi.useRealTimers();
});

describe("tabs that share a session", () => {
  it.each([
    ["with Web Locks", undefined],
    ["without Web Locks, in one page", {}],
  ])("never send the same refresh token twice, %s", async (_, navigator) => {
    if (navigator) vi.stubGlobal("navigator", navigator);
    const { auth, newTab } = setUp();
    const tabs = [newTab(), newTab(), newTab()];
    vi.unstubAllGlobals();
    auth.expiredBelow = 2;
    await Promise.all(tabs.flatMap((tab) => [tab.devices(), tab.keys(), tab.refresh()]));
    expect(new Set(auth.refreshes).size).toBe(auth.refreshes.length);
    expect(auth.ended).toBe(false);
    expect(new Set(tabs.map(({ credentials }) => credentials?.refreshToken))).toEqual(
      new Set([auth.pair().refreshToken]),
    );
  });

  it("would use a token twice without the lock", async () => {
    const noLocks: LockManager = { request: (_name, _options, work) => work() };
    const { auth, newTab } = setUp({ locks: noLocks });
    auth.expiredBelow = 2;
    await Promise.all([newTab().devices(), newTab().devices()]);
    expect(new Set(auth.refreshes).size).toBeLessThan(auth.refreshes.length);
  });

  it("sign out together, and in together", async () => {
    const { newTab } = setUp();
    const [first, second] = [newTab(), newTab()];
    const seen: string[] = [];
    second.session.subscribe(() => seen.push(second.session.state));
    await first.signOut();
    await vi.waitFor(() => expect(second.session.state).toBe("signed-out"));
    expect(second.credentials).toBeUndefined();
    await first.signIn({ login, chainName: "c" });
    await vi.waitFor(() => expect(second.credentials).toEqual(first.credentials));
    expect(seen).toEqual(["signed-out", "signed-in"]);
  });

  it("take the session of a tab that signed in again, and do not delete it", async () => {
    const { newTab, storage, name } = setUp();
    const first = newTab();
    const store = storage.tab(name);
    const deaf = newTab({ store: { name, load: store.load, save: store.save } });
    await first.signIn({ login, chainName: "c" });
    expect(await deaf.devices()).toEqual([]);
    expect(deaf.credentials).toEqual(first.credentials);
    expect(JSON.parse(storage.values.get(name)!)).toEqual(first.credentials);
  });

  it("load an asynchronous store before the first call, which has its token", async () => {
    const { auth } = setUp();
    const store: CredentialStore = { name: "async", load: async () => auth.pair(), save: async () => {} };
    const client = new CountersignClient({ baseUrl, deviceKey, fetch: auth.fetch, store });
    expect(client.session.state).toBe("signed-out");
    await client.devices();
    expect(client.session.state).toBe("signed-in");
    await client.session.ready;
  });
});

describe("a refresh that another tab overtakes", () => {
  /** Returns a tab that is notified of no change yet, and whose refresh is answered after `meanwhile`. */
  function overtaken(meanwhile: (storage: ReturnType<typeof sharedStorage>, name: string) => unknown) {
    const { auth, storage, name, newTab } = setUp();
    const { load, save } = storage.tab(name);
    const fetch: typeof auth.fetch = async (input, init) => {
      const answer = await auth.fetch(input, init);
      await meanwhile(storage, name);
      return answer;
    };
    return { tab: newTab({ fetch, store: { name, load, save } }), stored: () => storage.values.get(name) };
  }

  it("leaves a sign-out as it is", async () => {
    const { tab, stored } = overtaken((storage, name) => storage.values.delete(name));
    expect(await errorOf(tab.refresh())).toBeInstanceOf(SessionEndedError);
    expect(stored()).toBeUndefined();
    expect(tab.session.state).toBe("signed-out");
  });

  it("leaves a sign-in as it is, and takes its session", async () => {
    const pair = { accessToken: "another", refreshToken: "another's" };
    const { tab, stored } = overtaken((storage, name) => storage.values.set(name, JSON.stringify(pair)));
    expect(await tab.refresh()).toEqual(pair);
    expect(JSON.parse(stored()!)).toEqual(pair);
    expect(tab.credentials).toEqual(pair);
  });

  it("keeps its pair where the store cannot be read then, as that of a locked phone", async () => {
    const { auth, storage, name, newTab } = setUp();
    const store = storage.tab(name);
    let isLocked = false;
    const tab = newTab({
      store: {
        ...store,
        load: () => (isLocked ? Promise.reject(new Error("locked")) : store.load()),
      },
      fetch: async (input, init) => {
        isLocked = true;
        return auth.fetch(input, init);
      },
    });
    await tab.refresh();
    expect(tab.credentials).toEqual(auth.pair(2));
  });
});

it.each([
  ["whose token is known to be expired", true],
  ["whose token is answered to be expired", false],
])("a call of one person, %s, is not sent in the name of another, who signed in in another tab", async (_, isKnown) => {
  const of = (sub: string): Credentials => ({
    accessToken: `e30.${Buffer.from(JSON.stringify({ sub, exp: 1 })).toString("base64url")}.e30`,
    refreshToken: `refresh-${sub}`,
  });
  const { storage, name, newTab } = setUp();
  storage.values.set(name, JSON.stringify(of("ada")));
  const sent: (string | null)[] = [];
  const fetch = async (_input: unknown, init?: RequestInit) => {
    sent.push(new Headers(init?.headers).get("authorization"));
    const headers = { date: new Date().toUTCString() };
    return Response.json({ error: "AccessTokenExpired" }, { status: 401, headers });
  };
  const { load, save } = storage.tab(name);
  const tab = newTab({ fetch, store: { name, load, save } });
  // Its answer has the server's time.
  if (isKnown) await errorOf(tab.requestChallenge({ login, chainName: "c" }));
  storage.values.set(name, JSON.stringify(of("grace")));
  expect(await errorOf(tab.devices())).toBeInstanceOf(SessionEndedError);
  expect(sent).not.toContain(`Bearer ${of("grace").accessToken}`);
  expect(tab.session.accountId).toBe("grace");
});

describe("a stored session of another key, as of the phone whose backup this one has", () => {
  const of = ({ publicKey, algorithm }: typeof deviceKey): Credentials => {
    const claims = { sub: "ada", account_key: { alg: algorithm, key: publicKey } };
    const accessToken = `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.e30`;
    return { accessToken, refreshToken: "refresh-1" };
  };
  const clientWith = (options: Partial<ClientOptions>) => {
    const fetch = async () => Promise.reject(new Error("nothing may be sent"));
    return new CountersignClient({ baseUrl, deviceKey, fetch, ...options });
  };
  const [own, foreign] = [of(deviceKey), of(generateDeviceKey())];

  it.each<[string, (pair: Credentials) => Partial<ClientOptions>]>([
    ["given", (credentials) => ({ credentials })],
    ["loaded at once", (pair) => ({ store: { name: "s", load: () => pair, save: () => {} } })],
    ["loaded later", (pair) => ({ store: { name: "s", load: async () => pair, save: async () => {} } })],
  ])("is none, %s", async (_, optionsOf) => {
    const [client, restored] = [clientWith(optionsOf(own)), clientWith(optionsOf(foreign))];
    await Promise.all([client.session.ready, restored.session.ready]);
    expect(client.credentials).toEqual(own);
    expect(restored.session).toMatchObject({ state: "signed-out", accountId: undefined });
    await expect(restored.refresh()).rejects.toThrow("there is no session");
  });

  it("is not taken from another tab either", async () => {
    const { storage, name, newTab } = setUp();
    storage.values.set(name, JSON.stringify(own));
    const tab = newTab();
    await storage.tab(name).save(foreign);
    await vi.waitFor(() => expect(tab.session.state).toBe("signed-out"));
  });
});

describe("a store that fails to save a new pair", () => {
  /** Returns a tab whose storage is full, as long as it is. */
  function withFullStorage() {
    const { auth, storage, name, newTab } = setUp();
    const store = storage.tab(name);
    const disk = { isFull: true };
    const save = (credentials: Credentials | undefined) => {
      if (disk.isFull) throw new Error("the storage is full");
      store.save(credentials);
    };
    const tab = newTab({ store: { ...store, save } });
    return { auth, disk, tab, stored: () => JSON.parse(storage.values.get(name) ?? "null") as Credentials | null };
  }

  it("does not bring a refresh token back that is used: the session goes on", async () => {
    const { auth, disk, tab, stored } = withFullStorage();
    for (let count = 0; count < 3; count++) {
      expect(await errorOf(tab.refresh())).toMatchObject({ message: "the storage is full" });
      auth.time += REPEAT_MS + 1;
    }
    expect(stored()).toEqual(auth.pair(1));
    expect(tab.credentials).toEqual(auth.pair());
    disk.isFull = false;
    await tab.refresh();
    expect(auth.refreshes).toEqual(["refresh-1", "refresh-2", "refresh-3", "refresh-4"]);
    expect(stored()).toEqual(auth.pair());
  });

  it("does not undo a sign-in", async () => {
    const { auth, disk, tab, stored } = withFullStorage();
    expect(await errorOf(tab.signIn({ login, chainName: "c" }))).toMatchObject({ message: "the storage is full" });
    disk.isFull = false;
    await tab.refresh();
    expect(tab.session.state).toBe("signed-in");
    expect(stored()).toEqual(auth.pair());
  });

  it("still takes what another tab has saved", async () => {
    const { auth, storage, name, newTab } = setUp();
    const store = storage.tab(name);
    const tab = newTab({ store: { ...store, save: () => Promise.reject(new Error("the storage is full")) } });
    await errorOf(tab.refresh());
    const other = newTab();
    await other.signIn({ login, chainName: "c" });
    await vi.waitFor(() => expect(tab.credentials).toEqual(auth.pair()));
    expect(await tab.devices()).toEqual([]);
  });
});

it.each(["{", "null", '"text"'])("a storage with something else under its name, %s, is no session", async (text) => {
  const { auth, storage, name, newTab } = setUp();
  storage.values.set(name, text);
  const tab = newTab();
  expect(tab.session.state).toBe("signed-out");
  await tab.signIn({ login, chainName: "c" });
  expect(JSON.parse(storage.values.get(name)!)).toEqual(auth.pair());
});

describe("a refresh whose answer is lost", () => {
  it("is repeated in time, and gives the next pair", async () => {
    const { auth, newTab } = setUp();
    auth.loseAnswers = 2;
    const tab = newTab();
    expect(await tab.refresh()).toEqual(auth.pair(2));
    expect(auth.refreshes).toEqual(["refresh-1", "refresh-1", "refresh-1"]);
    expect(auth.ended).toBe(false);
    expect(tab.session.state).toBe("signed-in");
  });

  it("keeps the old pair after three tries, and the next call within 30 seconds goes on with it", async () => {
    const { auth, newTab } = setUp();
    const tab = newTab();
    auth.loseAnswers = 3;
    expect(await errorOf(tab.refresh())).toBeInstanceOf(TypeError);
    expect(tab.credentials).toEqual(auth.pair(1));
    auth.time = REPEAT_MS;
    expect(await tab.refresh()).toEqual(auth.pair(2));
  });

  it("ends the session where it is repeated later: the person signs in", async () => {
    const { auth, newTab } = setUp();
    const tab = newTab();
    auth.loseAnswers = 3;
    await errorOf(tab.refresh());
    auth.time = REPEAT_MS + 1;
    expect(await errorOf(tab.refresh())).toMatchObject({ error: "RefreshTokenReused" });
    expect(tab.session.state).toBe("ended");
    expect(tab.session.endedBy).toBeInstanceOf(SessionEndedError);
    await tab.signIn({ login, chainName: "c" });
    expect(tab.session.state).toBe("signed-in");
    expect(tab.session.endedBy).toBeUndefined();
  });

  it("begins no try later than the service accepts one, also where no answer comes at all", async () => {
    vi.useFakeTimers();
    const { newTab } = setUp();
    const sent: number[] = [];
    const started = Date.now();
    const fetch = (_: unknown, init?: RequestInit) => {
      sent.push(Date.now() - started);
      return new Promise<Response>((_resolve, reject) => {
        init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason));
      });
    };
    const refreshed = errorOf(newTab({ fetch }).refresh());
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await refreshed).toMatchObject({ name: "TimeoutError" });
    expect(sent).toHaveLength(3);
    expect(Math.max(...sent)).toBeLessThan(REPEAT_MS - 8_000);
  });
});
