import { describe, expect, it } from "vitest";
import { someKey } from "../testing/samples.ts";
import { compareAccountKeys, compareKeys } from "./compare-keys.ts";
import type { ChainKey } from "./ports.ts";
import { OF_USER_KEY, type Registration } from "./registration.ts";

const { requestId: _, ...sample } = someKey();
const registration = (change: Partial<Registration> = {}): Registration => ({
  ...OF_USER_KEY,
  ...sample,
  id: "registration",
  weight: 1,
  createdAt: new Date(),
  lastUsedAt: null,
  revokedAt: null,
  ...change,
});
const onChain = (change: Partial<ChainKey> = {}): ChainKey => ({
  index: 1,
  publicKey: sample.accountKey,
  weight: 1,
  role: "user",
  revoked: false,
  ...change,
});
const server = onChain({ index: 0, publicKey: someKey().accountKey, weight: 999, role: "server" });
const compare = (registrations: Registration[], keys: ChainKey[]) =>
  compareKeys(registrations, { chainName: sample.chainName, height: 1n, keys: [server, ...keys] });

describe("the registrations of an account and its keys on chain", () => {
  it.each<[string, Registration[], ChainKey[]]>([
    ["an active key", [registration()], [onChain()]],
    ["a revoked key", [registration({ revokedAt: new Date() })], [onChain({ revoked: true })]],
    ["a revoked key that nobody registered", [], [onChain({ revoked: true })]],
    ["a recovery key that was only reported", [registration({ keyIndex: -1 })], []],
    ["a weight that was not read yet", [registration({ weight: 0 })], [onChain()]],
    ["a key of another chain", [registration({ chainName: "other", keyIndex: 5 }), registration()], [onChain()]],
  ])("agree about %s", (_, registrations, keys) => {
    expect(compare(registrations, keys)).toEqual([]);
  });

  it.each<[string, Registration[], ChainKey[], string]>([
    ["a key that is not on chain", [registration()], [], "is not on chain"],
    ["another key", [registration()], [onChain({ publicKey: someKey().accountKey })], "is another key on chain"],
    ["a key revoked on chain", [registration()], [onChain({ revoked: true })], "the chain was not followed"],
    ["a key revoked here", [registration({ revokedAt: new Date() })], [onChain()], "it still signs transactions"],
    ["the weight", [registration({ weight: 999 })], [onChain()], "has weight 999 here, 1 on chain"],
    ["a key that is not listed", [], [onChain()], "is not listed here"],
    ["a key that is there twice", [registration()], [onChain(), onChain({ index: 2 })], "key 2 on chain is not listed"],
  ])("differ in %s", (_, registrations, keys, difference) => {
    expect(compare(registrations, keys)).toContainEqual(expect.stringContaining(difference));
  });

  it("are compared on each chain, with revoked ones, and not changed", async () => {
    const store = {
      list: async (_id: string, { includeRevoked }: { includeRevoked: boolean }) =>
        includeRevoked ? [registration()] : [],
    };
    const chain = { list: async () => [{ chainName: sample.chainName, height: 1n, keys: [server] }] };
    expect(await compareAccountKeys({ store, chain })("account")).toEqual([
      `${sample.chainName}: user key 1 (registration) is not on chain: it signs in and can sign no transaction`,
    ]);
  });
});
