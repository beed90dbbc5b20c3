import { FixedClock } from "@countersign/core/testing";
import { describe, expect, it } from "vitest";
import type { Account, AccountAddress } from "../domain/accounts/account.ts";
import { NO_PROFILE, type Profile, type ProfileLookup } from "../domain/accounts/profiles.ts";
import { createProfiles } from "./known-profiles.ts";

const own: AccountAddress = { chainName: "one", chainType: "cadence", address: "01cf0e2f2f715450", chainId: 646 };
const evm: AccountAddress = { ...own, chainType: "evm", address: `0x${"00".repeat(20)}` };
const elsewhere: AccountAddress = { ...own, chainName: "two" };
const account: Account = {
  id: "a",
  profileImageUrl: "",
  addresses: [own, evm, elsewhere],
  parents: [],
  createdAt: new Date(0),
  updatedAt: new Date(0),
};
const ada: Profile = { domainName: "ada.find", profileImageUrl: "https://pictures.test/ada" };
const never: ProfileLookup = (_, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("time is up"))));

function setUp(lookup: ProfileLookup, waitMs = 20_000) {
  const clock = new FixedClock("2026-11-20T10:00:00Z");
  const state = { lookup, asked: 0 };
  const counted: ProfileLookup = (address, signal) => {
    state.asked += 1;
    return state.lookup(address, signal);
  };
  const lookups = new Map([["one", counted]]);
  return { clock, state, profiles: createProfiles({ lookups, clock, waitMs, timeLimitMs: 500 }) };
}

describe("profiles", () => {
  it("looks an address up once, on the chains that have names; others have none", async () => {
    const { state, profiles } = setUp(async () => ada);
    const [of] = await Promise.all([profiles.of(account), profiles.of(account)]);
    expect([own, evm, elsewhere].map(of)).toEqual([ada, NO_PROFILE, NO_PROFILE]);
    await profiles.of(account);
    expect(state.asked).toBe(1);
  });

  it("does not wait for a service that hangs, and leaves it alone for a minute", async () => {
    const { clock, state, profiles } = setUp(never, 10);
    expect((await profiles.of(account))(own)).toEqual(NO_PROFILE);
    await new Promise((resolve) => setTimeout(resolve, 700));
    await profiles.of(account);
    expect(state.asked).toBe(1);
    state.lookup = async () => ada;
    clock.advance(61_000);
    await profiles.of(account);
    await expect.poll(async () => (await profiles.of(account))(own)).toEqual(ada);
  });

  it("answers with what it knew while it looks again, and keeps it where that fails", async () => {
    const { clock, state, profiles } = setUp(async () => ada);
    await profiles.of(account);
    state.lookup = never;
    clock.advance(11 * 60_000);
    expect((await profiles.of(account))(own)).toEqual(ada);
    expect(state.asked).toBe(2);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await profiles.of(account))(own)).toEqual(ada);
    state.lookup = async () => NO_PROFILE;
    clock.advance(61_000);
    await profiles.of(account);
    await expect.poll(async () => (await profiles.of(account))(own)).toEqual(NO_PROFILE);
  });

  it("keeps a bound on what hangs", async () => {
    const { state, profiles } = setUp(never, 10);
    const many = Array.from({ length: 100 }, (_, i) => ({ ...own, address: i.toString(16).padStart(16, "0") }));
    await profiles.of({ ...account, addresses: many });
    expect(state.asked).toBe(32);
  });
});
