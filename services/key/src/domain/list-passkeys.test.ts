import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey, somePublicKey } from "../testing/samples.ts";
import { listPasskeys } from "./list-passkeys.ts";
import { registerKey } from "./register-key.ts";

describe("listPasskeys", () => {
  it("gives an account's passkeys of a chain that may sign in, and nothing else", async () => {
    const store = memoryKeyStore();
    const register = registerKey({ store, clock: new FixedClock(), newId: v7, maxUserKeys: 20 });
    const first = someKey({ type: "passkey" });
    const { accountId, chainName } = first;
    const others = { ...first, accountKey: somePublicKey() };
    await register(first);
    await register({ ...others, type: "device", keyIndex: 2 });
    await register({ ...others, accountKey: somePublicKey(), origin: "chain", keyIndex: 3 });
    await register({ ...others, accountKey: somePublicKey(), chainName: "flow-other", keyIndex: 4 });
    const second = { ...others, accountKey: somePublicKey(), keyIndex: 5 };
    await register(second);
    await register(someKey({ type: "passkey" }));

    const list = listPasskeys({ store });
    const found = await list({ accountId, chainName });
    expect(found.map(({ accountKey }) => accountKey)).toEqual([first.accountKey, second.accountKey]);
    expect(await list({ accountId: v7(), chainName })).toEqual([]);
  });
});
