import { describe, expect, it, vi } from "vitest";
import { secureCredentials } from "./secure-credentials.ts";

/** A module that notes what it is to store, and how. */
function noting() {
  const setItemAsync = vi.fn(
    async (_key: string, _value: string, _options?: { keychainAccessible?: number; keychainService?: string }) => {},
  );
  const module = { getItemAsync: async () => null, setItemAsync, deleteItemAsync: async () => {} };
  return { setItemAsync, module: { ...module, WHEN_UNLOCKED_THIS_DEVICE_ONLY: 6 } };
}

describe("credentials in the phone's Keychain or Keystore", () => {
  it("are written in the order of the changes", async () => {
    const values = new Map<string, string>();
    const delays = [20, 0, 0];
    const later = () => new Promise((resolve) => setTimeout(resolve, delays.shift() ?? 0));
    const store = secureCredentials({
      getItemAsync: async (key) => values.get(key) ?? null,
      setItemAsync: async (key, value) => {
        await later();
        values.set(key, value);
      },
      deleteItemAsync: async (key) => {
        await later();
        values.delete(key);
      },
    });
    const pair = { accessToken: "a", refreshToken: "r" };
    await Promise.all([store.save({ ...pair, refreshToken: "old" }), store.save(undefined), store.save(pair)]);
    expect(await store.load()).toEqual(pair);
  });

  it("are none where the item cannot be read at first; later that is no sign-out", async () => {
    const pair = { accessToken: "a", refreshToken: "r" };
    const getItemAsync = vi.fn(async (): Promise<string | null> => {
      throw new Error("could not decrypt the value");
    });
    const store = secureCredentials({ getItemAsync, setItemAsync: async () => {}, deleteItemAsync: async () => {} });
    expect(await store.load()).toBeUndefined();
    await store.save(pair);
    await expect(store.load()).rejects.toThrow("could not decrypt");
    getItemAsync.mockResolvedValueOnce(JSON.stringify(pair));
    expect(await store.load()).toEqual(pair);
  });

  it("stay on this phone: a backup does not have them", async () => {
    const { module, setItemAsync } = noting();
    await secureCredentials(module).save({ accessToken: "a", refreshToken: "r" });
    expect(setItemAsync.mock.lastCall?.[2]).toEqual({ keychainAccessible: module.WHEN_UNLOCKED_THIS_DEVICE_ONLY });
  });

  it("are in no backup with other options either", async () => {
    const { module, setItemAsync } = noting();
    const store = secureCredentials(
      { ...module, WHEN_UNLOCKED_THIS_DEVICE_ONLY: 6 },
      { options: { keychainService: "a" } },
    );
    await store.save({ accessToken: "a", refreshToken: "r" });
    expect(setItemAsync.mock.lastCall?.[2]).toEqual({ keychainAccessible: 6, keychainService: "a" });
  });

  it("have the module's options and another name", async () => {
    const { module, setItemAsync } = noting();
    const store = secureCredentials(module, { name: "second", options: { keychainAccessible: 0 } });
    await store.save({ accessToken: "a", refreshToken: "r" });
    expect(setItemAsync).toHaveBeenCalledWith("second", expect.any(String), { keychainAccessible: 0 });
  });
});
