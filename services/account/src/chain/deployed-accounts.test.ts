import type { ChainEvent } from "@countersign/flow";
import { expect, it } from "vitest";
import { deployedAccounts } from "./deployed-accounts.ts";

const EVM_CREATED = "A.f8d6e0586b0a20c7.EVM.CadenceOwnedAccountCreated";
const address = (i: number) => `0${i}`.repeat(8);
const evmAddress = (i: number) => `0${i}`.repeat(20);

/** The event of a key; 3 is SHA3-256 and 1 is SHA2-256. */
const keyAdded = (i: number, keyIndex: string, hash: string): ChainEvent => ({
  type: "flow.AccountKeyAdded",
  transactionId: "cd".repeat(32),
  fields: {
    address: `0x${address(i)}`,
    publicKey: {
      publicKey: Array(64).fill(keyIndex === "0" ? String(i) : "99"),
      signatureAlgorithm: { rawValue: "1" },
    },
    weight: "1.00000000",
    hashAlgorithm: { rawValue: hash },
    keyIndex,
  },
});
const serverKeyAdded = (i: number) => keyAdded(i, "0", "3");
const userKeyAdded = (i: number) => keyAdded(i, "1", "1");
const evmCreated = (shown: unknown): ChainEvent => ({
  type: EVM_CREATED,
  transactionId: "cd".repeat(32),
  fields: { address: shown, uuid: "7" },
});
const account = (i: number) => ({
  address: address(i),
  serverKey: `0${i}`.repeat(64),
  serverKeyIndex: 0,
  evmAddress: `0x${evmAddress(i)}`,
});

it("gives each account the EVM address that was made after its keys and before the next one's", () => {
  const events = [1, 2, 3].flatMap((i) => [serverKeyAdded(i), userKeyAdded(i), evmCreated(evmAddress(i))]);
  expect(deployedAccounts(events, EVM_CREATED)).toEqual([1, 2, 3].map(account));
  // As a node gives them that is asked for one type after the other.
  const byType = events.map((event, index) => ({ ...event, index })).toSorted((a, b) => a.type.localeCompare(b.type));
  expect(deployedAccounts(byType, EVM_CREATED)).toEqual([1, 2, 3].map(account));
});

it("refuses events of which one is missing: an account never gets the EVM address of another one", () => {
  const events = [1, 2, 3].flatMap((i) => [serverKeyAdded(i), evmCreated(evmAddress(i))]);
  for (const i of events.keys())
    expect(() => deployedAccounts(events.toSpliced(i, 1), EVM_CREATED)).toThrow("incomplete");
});

it.each([
  ["a list", [1, 2]],
  ["nothing", undefined],
  ["too little", "0xabcd"],
  ["other letters", "zz".repeat(20)],
])("refuses %s as an EVM address", (_, shown) => {
  expect(() => deployedAccounts([serverKeyAdded(1), evmCreated(shown)], EVM_CREATED)).toThrow("no EVM address");
});
