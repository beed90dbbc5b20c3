import { AppError } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { BoundServerKeys } from "../server-keys/server-key-rotation.ts";
import { compareAccount, compareServerKeys } from "./compare-account.ts";
import { listBalances, toFlow } from "./list-balances.ts";

const newKey = () => generateKeyPair().publicKey.publicKey;
const [first, second, user] = [newKey(), newKey(), newKey()];

/** A key on chain; by default an active server key. */
const key = (index: number, publicKey: string, change: Partial<AccountKey> = {}): AccountKey => ({
  index,
  publicKey,
  signatureAlgorithm: "ECDSA_P256",
  hashAlgorithm: "SHA3_256",
  weight: 999,
  sequenceNumber: 0n,
  revoked: false,
  ...change,
});
const userKey = key(1, user, { hashAlgorithm: "SHA2_256", weight: 1 });
const bound = (index: number, publicKey: string, retired: BoundServerKeys["retired"] = []): BoundServerKeys => ({
  current: { version: retired.length + 1, index, publicKey },
  next: undefined,
  retired,
});
const old = { version: 1, index: 0, publicKey: first };

describe("the keys of an account on chain and in the signer", () => {
  it.each<[string, AccountKey[], BoundServerKeys | undefined]>([
    ["as they were created", [key(0, first), userKey], bound(0, first)],
    ["after a rotation", [key(0, first, { revoked: true }), userKey, key(2, second)], bound(2, second, [old])],
  ])("agree %s", (_, keys, known) => {
    expect(compareServerKeys(keys, known)).toEqual([]);
  });

  it.each<[string, AccountKey[], BoundServerKeys | undefined, string]>([
    ["nothing is on chain", [], bound(0, first), "the chain shows no key"],
    ["the person has left", [key(0, first, { revoked: true }), userKey], bound(0, first), "no server key is active"],
    ["two are active", [key(0, first), userKey, key(2, second)], bound(2, second), "2 server keys are active"],
    ["somebody added a key", [key(0, first), key(1, user, { weight: 500 })], bound(0, first), "somebody else added it"],
    ["the signer knows nothing", [key(0, first), userKey], undefined, "the signer has no binding"],
    ["the signer has another key", [key(0, first), userKey], bound(0, second), "its signatures fail"],
    ["the signer has another index", [key(0, first), userKey], bound(1, first), "its signatures fail"],
    [
      "the signer's key is revoked",
      [key(0, first, { revoked: true }), userKey, key(2, second)],
      bound(0, first),
      "which is revoked on chain",
    ],
    [
      "a retired key is active",
      [key(0, first), userKey, key(2, second)],
      bound(2, second, [old]),
      "retired server key 0 is still active",
    ],
  ])("differ where %s", (_, keys, known, difference) => {
    expect(compareServerKeys(keys, known)).toContainEqual(expect.stringContaining(difference));
  });
});

describe("an account", () => {
  const chainName = "flow-emulator";
  const address = "01cf0e2f2f715450";
  const compare = (options: { serverKeys?: () => Promise<BoundServerKeys>; addresses?: object[] }) => {
    const addresses = options.addresses ?? [{ chainName, chainType: "cadence", address, chainId: 1 }];
    const accounts = { find: async (id: string) => (id === "unknown" ? undefined : { account: { addresses } }) };
    const chain = { chainName, accountKeys: async () => [key(0, first), userKey] };
    const { serverKeys = async () => bound(0, first) } = options;
    return compareAccount({
      accounts,
      chains: new Map([[chainName, chain]]),
      signer: { serverKeys },
    } as unknown as Parameters<typeof compareAccount>[0]);
  };
  const signal = new AbortController().signal;

  it("is compared on each of its chains", async () => {
    expect(await compare({})("account", signal)).toEqual([]);
    expect(await compare({ addresses: [] })("account", signal)).toEqual(["no address: the account is not on chain"]);
    const elsewhere = compare({ addresses: [{ chainName: "gone", chainType: "cadence", address }] });
    expect(await elsewhere("account", signal)).toEqual([
      expect.stringContaining("gone 0x01cf0e2f2f715450: not compared"),
    ]);
    await expect(compare({})("unknown", signal)).rejects.toMatchObject({ reason: "AccountNotFound" });
  });

  it("that cannot be compared says so", async () => {
    const unbound = compare({ serverKeys: () => Promise.reject(new AppError("AccountNotReady")) });
    expect(await unbound("account", signal)).toEqual([expect.stringContaining("the signer has no binding")]);
    const away = compare({ serverKeys: () => Promise.reject(new AppError("Unavailable")) });
    expect(await away("account", signal)).toEqual([expect.stringContaining("not compared: Unavailable")]);
  });
});

it("balances are read of each account that pays, and shown with eight decimals", async () => {
  const chain = {
    chainName: "flow-emulator",
    paymaster: "aa",
    creator: { address: "bb" },
    balance: async (address: string) => (address === "aa" ? 123_456_789_012n : 1n),
  };
  const list = listBalances({
    accounts: { find: async () => undefined },
    chains: new Map([["flow-emulator", chain]]),
  } as unknown as Parameters<typeof listBalances>[0]);
  const signal = new AbortController().signal;
  expect((await list("", signal)).map(({ owner, flow }) => [owner, flow])).toEqual([
    ["paymaster", "1234.56789012"],
    ["creator", "0.00000001"],
  ]);
  await expect(list("unknown", signal)).rejects.toMatchObject({ reason: "AccountNotFound" });
  expect(toFlow(0n)).toBe("0.00000000");
});

it("balances of an account that is on one of two chains are read there", async () => {
  const chainOf = (chainName: string) => ({
    ...{ chainName, paymaster: "aa", creator: { address: "bb" } },
    balance: async (address: string) => (address === "cc" ? 5n : 1n),
  });
  const addresses: object[] = [{ chainName: "flow-a", chainType: "cadence", address: "cc" }];
  const list = listBalances({
    accounts: { find: async () => ({ account: { addresses } }) },
    chains: new Map(["flow-a", "flow-b"].map((name) => [name, chainOf(name)])),
  } as unknown as Parameters<typeof listBalances>[0]);
  const { signal } = new AbortController();
  const ofAccount = (await list("account", signal)).filter(({ owner }) => owner === "account");
  expect(ofAccount).toEqual([{ chainName: "flow-a", owner: "account", address: "cc", flow: "0.00000005" }]);
  addresses.pop();
  await expect(list("account", signal)).rejects.toMatchObject({ reason: "AccountNotReady" });
});
