import { activeKey } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { accounts, chainName, key, serverKeyAt } from "../../testing/chain-account.ts";
import { cadenceAddressOf, requireBelowKeyLimit, serverKeyOf } from "./account-on-chain.ts";

const hex = (digit: string) => digit.repeat(128);
// A recovery key weighs as much as the server key: they differ only in their hash.
const recovery = (index: number, digits: string) => key(index, digits, { weight: 999 });

describe("the server key of an account", () => {
  it("is no recovery key, which weighs the same", () => {
    const keys = [recovery(0, hex("a")), key(1, hex("b")), serverKeyAt(2, hex("c"))];
    expect(activeKey(keys, "server")?.index).toBe(2);
    expect(() => serverKeyOf(keys.slice(0, 2))).toThrow("AccountNotReady");
  });

  it("is no light key with its hash, and no revoked one", () => {
    expect(activeKey([key(0, hex("a"), { hashAlgorithm: "SHA3_256" })], "server")).toBeUndefined();
    expect(activeKey([{ ...serverKeyAt(0, hex("a")), revoked: true }], "server")).toBeUndefined();
  });
});

describe("a key by its bytes", () => {
  const keys = [serverKeyAt(0, hex("a")), key(1, hex("b")), recovery(2, hex("c")), key(3, hex("d"), { revoked: true })];

  it("is a user key only with weight and hash of one, and unrevoked", () => {
    expect(activeKey(keys, "user", hex("b"))?.index).toBe(1);
    for (const other of ["a", "c", "d"]) expect(activeKey(keys, "user", hex(other))).toBeUndefined();
    expect(activeKey([key(0, hex("b"), { hashAlgorithm: "SHA3_256" })], "user", hex("b"))).toBeUndefined();
  });

  it("is a recovery key only with weight and hash of one, and unrevoked", () => {
    expect(activeKey(keys, "recovery", hex("c"))?.index).toBe(2);
    for (const other of ["a", "b", "d"]) expect(activeKey(keys, "recovery", hex(other))).toBeUndefined();
    expect(activeKey([{ ...keys[2]!, revoked: true }], "recovery", hex("c"))).toBeUndefined();
  });

  it("counts towards the most only as an active user key", () => {
    expect(() => requireBelowKeyLimit(keys, 2)).not.toThrow();
    expect(() => requireBelowKeyLimit(keys, 1)).toThrow("TooManyKeys");
  });
});

it("the address of an account is that of the chain, and of Cadence", async () => {
  const { account } = await accounts.find();
  const [own] = account.addresses;
  const others = [{ chainName: "elsewhere" }, { chainType: "evm" as const }].map((change) => ({
    ...own!,
    address: "179b6b1cb6755e31",
    ...change,
  }));
  const of = (addresses: typeof others) =>
    cadenceAddressOf(
      { find: async () => ({ account: { ...account, addresses }, deployment: undefined }) },
      "",
      chainName,
    );
  expect(await of([...others, own!])).toBe(own!.address);
  await expect(of(others)).rejects.toMatchObject({ reason: "AccountNotReady" });
});
