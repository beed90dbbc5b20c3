import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AccountDeployment } from "../domain/accounts/account.ts";
import { rememberAccounts, writingParents } from "./remembered-accounts.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const deployed = (...chainNames: string[]): AccountDeployment => ({
  account: {
    id: "a",
    profileImageUrl: "",
    createdAt: new Date(0),
    updatedAt: new Date(0),
    parents: [],
    addresses: chainNames.map((chainName) => ({
      chainName,
      chainType: "cadence" as const,
      address: "01cf0e2f2f715450",
      chainId: 646,
    })),
  },
  deployment: undefined,
});

const chains = ["flow", "flow-other"];
/** One replica, of the database that the state is. */
function remembered(state = { reads: 0, answer: deployed(...chains), duringRead: async () => {} }) {
  const accounts = rememberAccounts(
    async () => {
      state.reads += 1;
      await state.duringRead();
      return state.answer;
    },
    () => chains,
  );
  return { state, accounts };
}

it("reads an account once, per chain, until it changes", async () => {
  const { state, accounts } = remembered();
  await accounts.find("a", "");
  await accounts.find("a", "");
  expect(state.reads).toBe(1);
  await accounts.find("a", "flow");
  void accounts.forgetEverywhere("b");
  await accounts.find("a", "");
  expect(state.reads).toBe(2);
  void accounts.forgetEverywhere("a");
  await accounts.find("a", "");
  await accounts.find("a", "flow");
  expect(state.reads).toBe(4);
});

it.each([[], ["flow"]])("remembers no account that further chains may be added to: on %s", async (...on) => {
  const { state, accounts } = remembered();
  state.answer = deployed(...on);
  await accounts.find("a", "");
  await accounts.find("a", "");
  await accounts.find("a", "flow");
  await accounts.find("a", "flow");
  expect(state.reads).toBe(4);
});

it("remembers nothing that may have changed while it was read", async () => {
  const { state, accounts } = remembered();
  state.duringRead = async () => void accounts.forgetEverywhere("a");
  await accounts.find("a", "");
  state.duringRead = async () => {};
  await accounts.find("a", "");
  expect(state.reads).toBe(2);
});

it("believes nothing for longer than half a second from the beginning of its read", async () => {
  const { state, accounts } = remembered();
  state.duringRead = async () => void (await vi.advanceTimersByTimeAsync(300));
  await accounts.find("a", "");
  state.duringRead = async () => {};
  await accounts.find("a", "flow");
  vi.advanceTimersByTime(199);
  await accounts.find("a", "");
  expect(state.reads).toBe(2);
  vi.advanceTimersByTime(1);
  await accounts.find("a", "");
  await accounts.find("a", "flow");
  expect(state.reads).toBe(4);
});

it("a change of parents is acknowledged once every replica reads it", async () => {
  const { state, accounts } = remembered();
  const { accounts: other } = remembered(state);
  const changed = { ...deployed(...chains), deployment: undefined };
  changed.account = { ...changed.account, parents: changed.account.addresses };
  const setParents = async () => {
    // As late as possible: just before the change.
    await other.find("a", "");
    state.answer = changed;
  };
  let isAcknowledged = false;
  const writing = writingParents({ find: accounts.find, setParents }, accounts).setParents("a", [], new Date(0));
  void writing.then(() => {
    isAcknowledged = true;
  });
  while (!isAcknowledged) {
    await other.find("a", "");
    await vi.advanceTimersByTimeAsync(1);
  }
  for (const replica of [accounts, other]) expect((await replica.find("a", ""))?.account.parents).toHaveLength(2);
});
