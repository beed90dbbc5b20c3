import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { beforeEach, expect, it } from "vitest";
import { type MemoryKeyStore, memoryKeyStore } from "../testing/memory-key-store.ts";
import { someKey } from "../testing/samples.ts";
import { registerKey } from "./register-key.ts";
import { reportRevocation } from "./report-revocation.ts";

const key = someKey();
const { accountId, chainName, accountKey } = key;
const clock = new FixedClock();
const atLeast = { chainName, height: 0n };
const transactionId = "ab".repeat(32);
let store: MemoryKeyStore;
let calls: unknown[];
let verdict: () => void;

const register = (change = {}) => registerKey({ store, clock, newId: v7, maxUserKeys: 20 })({ ...key, ...change });
const report = (publicKey = accountKey.publicKey) =>
  reportRevocation({
    store,
    chain: {
      list: async () => [],
      async verifyRevocation(...call) {
        verdict();
        calls.push(call);
      },
    },
    follow: async (command) => void calls.push(command),
  })({ accountId, publicKey, transactionId, session: "ada's", requestId: "r" });
const both = [
  [{ accountId, chainName, publicKey: accountKey, transactionId }, "ada's"],
  { accountId, requestId: "r", atLeast },
];

beforeEach(async () => {
  store = memoryKeyStore();
  [calls, verdict] = [[], () => undefined];
  await register();
});

it("a revocation is taken once the chain confirms it, and then follows the chain", async () => {
  verdict = () => {
    throw new AppError("TransactionMismatch");
  };
  await expect(report()).rejects.toMatchObject({ reason: "TransactionMismatch" });
  expect(calls).toEqual([]);
  verdict = () => undefined;
  await report();
  expect(calls).toEqual(both);
});

it("the revocation of a key that is revoked is nothing new, unless the key is there again", async () => {
  store.registrations[0]!.revokedAt = clock.now();
  await report();
  expect(calls).toEqual([]);
  await register({ keyIndex: 2 });
  await report();
  expect(calls).toEqual(both);
});

it("of a key that the chain has never shown, or that is not the account's, nothing is revoked", async () => {
  await expect(report("ab".repeat(64))).rejects.toMatchObject({ reason: "KeyNotFound" });
  store.registrations[0]!.keyIndex = -1;
  await expect(report()).rejects.toMatchObject({ reason: "KeyNotFound" });
  expect(calls).toEqual([]);
});
