import { afterEach, describe, expect, it, vi } from "vitest";
import { type ClientOptions, CountersignClient } from "./countersign-client.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { SessionEndedError } from "./problem-error.ts";
import type { Credentials } from "./resources.ts";
import { accessTokenOf, baseUrl, deviceKey, errorOf, login, REPEAT_MS, setUp } from "./testing/fake-auth.ts";

afterEach(() => {
  vi.useRealTimers();
});

describe("a stored session of another key, as of the phone whose backup this one has", () => {
  const of = ({ publicKey, algorithm }: typeof deviceKey): Credentials => {
    const claims = { sub: "ada", account_key: { alg: algorithm, key: publicKey } };
    return { accessToken: accessTokenOf(claims), refreshToken: "refresh-1" };
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

it("an app's own storing is waited for where it returns a promise: a sign-out leaves no tokens in it", async () => {
  const { auth } = setUp();
  const slow = Promise.withResolvers<void>();
  let kept: Credentials | undefined;
  const onCredentials = async (pair: Credentials | undefined) => {
    if (pair) await slow.promise;
    kept = pair;
  };
  const credentials = auth.pair();
  const client = new CountersignClient({ baseUrl, deviceKey, fetch: auth.fetch, credentials, onCredentials });
  const refreshed = client.refresh();
  await vi.waitFor(() => expect(client.credentials).toEqual(auth.pair(2)));
  const signedOut = client.signOut();
  await vi.waitFor(() => expect(client.session.state).toBe("signed-out"));
  slow.resolve();
  await Promise.all([refreshed, signedOut]);
  expect(kept).toBeUndefined();
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
