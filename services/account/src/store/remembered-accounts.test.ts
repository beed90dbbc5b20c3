import { expect, it } from "vitest";
import type { AccountDeployment } from "../domain/accounts/account.ts";
import { rememberAccounts, writingParents } from "./remembered-accounts.ts";

const deployed = (addresses = 2): AccountDeployment => ({
  account: {
    id: "a",
    profileImageUrl: "",
    createdAt: new Date(0),
    updatedAt: new Date(0),
    parents: [],
    addresses: Array.from({ length: addresses }, () => ({
      chainName: "flow-emulator",
      chainType: "cadence" as const,
      address: "01cf0e2f2f715450",
      chainId: 646,
    })),
  },
  deployment: undefined,
});

function remembered(answer = deployed()) {
  const state = { reads: 0, listening: true, answer, duringRead: () => {} };
  const accounts = rememberAccounts(
    async () => {
      state.reads += 1;
      state.duringRead();
      return state.answer;
    },
    () => state.listening,
  );
  return { state, accounts };
}

it("reads an account once, per chain, until it changes", async () => {
  const { state, accounts } = remembered();
  await accounts.find("a", "");
  await accounts.find("a", "");
  expect(state.reads).toBe(1);
  await accounts.find("a", "flow-emulator");
  accounts.forget("b");
  await accounts.find("a", "");
  expect(state.reads).toBe(2);
  accounts.forget("a");
  await accounts.find("a", "");
  accounts.forget("");
  await accounts.find("a", "");
  expect(state.reads).toBe(4);
});

it("remembers nothing that is not deployed yet", async () => {
  const { state, accounts } = remembered(deployed(0));
  await accounts.find("a", "");
  await accounts.find("a", "");
  expect(state.reads).toBe(2);
});

it("remembers nothing that may have changed while it was read", async () => {
  const { state, accounts } = remembered();
  state.duringRead = () => accounts.forget("a");
  await accounts.find("a", "");
  state.duringRead = () => {};
  await accounts.find("a", "");
  expect(state.reads).toBe(2);
});

it("believes nothing while nobody listens", async () => {
  const { state, accounts } = remembered();
  await accounts.find("a", "");
  state.listening = false;
  await accounts.find("a", "");
  await accounts.find("a", "");
  expect(state.reads).toBe(3);
});

it("a writer of parents reads them back at once", async () => {
  const { state, accounts } = remembered();
  await accounts.find("a", "");
  const setParents = async () => {
    state.answer = deployed(1);
  };
  await writingParents({ find: accounts.find, setParents }, accounts).setParents("a", [], new Date(0));
  expect((await accounts.find("a", ""))?.account.addresses).toHaveLength(1);
});
