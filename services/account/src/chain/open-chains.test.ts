import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Watched } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { Network, Networks } from "@countersign/settings";
import { expect, it } from "vitest";
import { followChains } from "../jobs/chain-follower.ts";
import { openChains } from "./open-chains.ts";

const MIB = 1024 * 1024;
const network = (chainName: string, change: Partial<Network> = {}) =>
  ({
    chainName,
    chainType: "flow",
    network: "emulator",
    evmChainId: 646,
    accessNode: "http://127.0.0.1:1",
    evmContract: "f8d6e0586b0a20c7",
    creator: { address: "f8d6e0586b0a20c7", keyCount: 8 },
    paymaster: { address: "f8d6e0586b0a20c7", keyId: 0 },
    explorerTransactionUrl: "https://explorer.example/{id}",
    ...change,
  }) as Network;
const named = (...networks: Network[]): Networks => new Map(networks.map((each) => [each.chainName, each]));

it("follows the networks: changed ones are opened again, new ones get their jobs, removed ones no more work", async () => {
  let current = named(network("a"), network("b"));
  let follow: (networks: Networks) => void = () => undefined;
  const watched: Watched<Networks> = {
    current: () => current,
    onChange: (listener) => {
      follow = listener;
      return () => undefined;
    },
    refresh: () => undefined,
  };
  const set = (...networks: Network[]) => {
    current = named(...networks);
    follow(current);
  };
  const { chains, onAdded, transactionUrl } = openChains(watched, new FixedClock());
  const jobs = new Map<string, () => Promise<unknown>>();
  const rounds: unknown[] = [];
  followChains({
    every: (_ms, job, run) => void jobs.set(job, () => run(new AbortController().signal)),
    job: "watch",
    chains,
    onAdded,
    leases: { mayLease: async () => true },
    owner: "",
    round: async (chain) => {
      rounds.push(chain);
      return false;
    },
    clock: new FixedClock(),
    pollMs: 1_000,
  });
  const { a, b } = Object.fromEntries(chains);
  set(network("a"), network("b", { explorerTransactionUrl: "https://other.example/{id}" }), network("c"));
  expect([chains.get("a") === a, chains.get("b") === b, transactionUrl("b", "x")]).toEqual([
    true,
    false,
    "https://other.example/x",
  ]);
  expect([...jobs.keys()]).toEqual(["watch of a", "watch of b", "watch of c"]);
  await jobs.get("watch of b")!();
  expect(rounds).toEqual([chains.get("b")]);
  set(network("a"));
  await jobs.get("watch of b")!();
  expect([rounds.length, chains.has("b")]).toEqual([1, false]);
  // It has its job already.
  set(network("a"), network("b"));
  await jobs.get("watch of b")!();
  expect([rounds.length, jobs.size]).toEqual([2, 3]);
});

it("ends an answer of a node that never ends before it fills the memory", async () => {
  let sent = 0;
  function* endless() {
    for (const spaces = Buffer.alloc(MIB, " "); ; sent += spaces.length) yield spaces;
  }
  const server = createServer((_, response) => void pipeline(endless(), response).catch(() => undefined));
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    const accessNode = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const networks = { current: () => named(network("a", { accessNode })), onChange: () => () => undefined };
    const { chains } = openChains({ ...networks, refresh: () => undefined }, new FixedClock());
    const { signal } = new AbortController();
    const { accountKeys, keyAdditionOutcome, accountEvents } = chains.get("a")!;
    const tooLong = async (answer: Promise<unknown>) =>
      ((await answer.catch((reason: Error) => reason)) as { cause?: Error }).cause?.message;
    // While they are parsed, all others wait: an account's keys, and what a transaction of its choice did.
    expect(await tooLong(accountKeys("01cf0e2f2f715450", signal))).toBe("the answer has more than 4 MiB");
    expect(await tooLong(keyAdditionOutcome("ab".repeat(32), signal))).toBe("the answer has more than 4 MiB");
    expect(await tooLong(accountEvents(["flow.AccountKeyAdded"], 1n, 2n, signal))).toBe(
      "the answer has more than 4 MiB",
    );
    expect(sent).toBeLessThan(128 * MIB);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}, 15_000);
