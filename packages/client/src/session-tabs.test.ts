import { afterEach, describe, expect, it, vi } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import type { CredentialStore } from "./credential-store.ts";
import type { LockManager } from "./locks.ts";
import { SessionEndedError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";
import { accessTokenOf, baseUrl, deviceKey, errorOf, login, setUp, type sharedStorage } from "./testing/fake-auth.ts";

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
    const other = new CountersignClient({ baseUrl, deviceKey, fetch: auth.fetch, store });
    expect(await other.refresh()).toEqual(auth.pair(2));
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
    accessToken: accessTokenOf({ sub, exp: 1 }),
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
