import { expect, it } from "vitest";
import type { Credentials } from "./resources.ts";
import { StoredPair } from "./stored-pair.ts";

const pair = { accessToken: "access", refreshToken: "refresh" } as Credentials;

it("a sign-out leaves no tokens in a store that still saves the session's", async () => {
  let kept: Credentials | undefined;
  const slow = Promise.withResolvers<void>();
  const stored = new StoredPair(
    {
      name: "",
      load: () => kept,
      async save(credentials) {
        if (credentials) await slow.promise;
        kept = credentials;
      },
    },
    () => undefined,
  );
  const saves = [stored.save(pair, undefined), stored.save(undefined, pair)];
  slow.resolve();
  await Promise.all(saves);
  expect(kept).toBeUndefined();
});

it("a save that failed is no error of the next one", async () => {
  let kept: Credentials | undefined = pair;
  const store = {
    name: "",
    load: () => kept,
    save(credentials: Credentials | undefined) {
      if (credentials) throw new Error("full");
      kept = credentials;
    },
  };
  const stored = new StoredPair(store, () => pair);
  await expect(stored.save(pair, undefined)).rejects.toThrow("full");
  await stored.save(undefined, pair);
  expect(kept).toBeUndefined();
});
