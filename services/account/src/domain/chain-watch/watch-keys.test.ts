import {
  type ChainTransaction,
  encodeCadence,
  KEY_ROLES,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
} from "@countersign/flow";
import { describe, expect, it } from "vitest";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { AccountEvent, AlertActions } from "./account-event.ts";
import { type Alert, MOST_OF_A_KIND } from "./find-alerts.ts";
import { type Found, type KeyWatchChain, type KeyWatchStore, watchKeys } from "./watch-keys.ts";

const now = new Date("2026-11-21T00:00:00Z");
const lease = { owner: "a", now, until: new Date(now.getTime() + 1000) };
const signal = new AbortController().signal;
const freezeAll: AlertActions = {
  keys: "freeze",
  contracts: "freeze",
  "account-capabilities": "freeze",
  inbox: "freeze",
};
const strange = {
  script: "transaction {}",
  arguments: [],
  proposalKey: { address: "aa", keyId: 0, sequenceNumber: 0n },
  payer: "aa",
  authorizers: ["aa"],
};

function world(
  events: AccountEvent[],
  latest: bigint,
  reported: bigint | undefined,
  {
    actions = freezeAll,
    managed = [] as string[],
    transaction = async (_id: string): Promise<ChainTransaction | undefined> => strange,
    accountKey = async (): Promise<AccountKey> => expect.unreachable(),
  } = {},
) {
  const state = {
    height: reported,
    changed: [] as [string, bigint][],
    alerts: [] as Alert[],
    raised: [] as Alert[],
    asked: [] as [bigint, bigint][],
    types: [] as readonly string[],
  };
  const store: KeyWatchStore = {
    async lease(_chain, _lease, begin) {
      state.height ??= begin;
      return state.height;
    },
    managed: async () => new Map(managed.map((address) => [address, `account of ${address}`])),
    async advance(_chain, { from, to }, { changed, alerts }: Found) {
      if (state.height !== from) return false;
      state.height = to;
      state.changed.push(...changed);
      state.alerts.push(...alerts);
      return true;
    },
  };
  const chain: KeyWatchChain = {
    chainName: "c",
    maxEventBlocks: 250n,
    creationScript: "creation",
    creator: { address: "cc" },
    transaction,
    accountKey,
    latestBlock: async () => ({ height: latest }),
    accountEvents: async (types: readonly string[], from: bigint, to: bigint) => {
      state.asked.push([from, to]);
      state.types = types;
      return events.filter(({ height }) => height >= from && height <= to);
    },
  };
  const raised = (_: string, alerts: readonly Alert[]) => void state.raised.push(...alerts);
  return { state, store, chain, round: () => watchKeys({ store, chain, lease, actions, raised }, signal) };
}

const base = { address: "aa", transactionId: "t", index: 0, height: 5n };
const addedKey = { address: "aa", publicKey: "", keyIndex: 2, weight: 1, hashAlgorithm: 1, signatureAlgorithm: 1 };
const added = (keyIndex = 2, rest: Partial<AccountEvent> = {}): AccountEvent => ({
  ...base,
  type: "flow.AccountKeyAdded",
  addedKey: { ...addedKey, keyIndex },
  ...rest,
});
const revoked = (removedKeyIndex: number, rest: Partial<AccountEvent> = {}): AccountEvent => ({
  ...base,
  type: "flow.AccountKeyRemoved",
  removedKeyIndex,
  ...rest,
});
const contract = (rest: Partial<AccountEvent> = {}): AccountEvent => ({
  ...base,
  type: "flow.AccountContractAdded",
  ...rest,
});

describe("watching keys", () => {
  it("emits once per account and range, with its newest change", async () => {
    const { state, round } = world([added(), revoked(1, { height: 7n })], 9n, 0n);
    expect(await round()).toBe(false);
    expect(state.changed).toEqual([["aa", 7n]]);
    expect(state.height).toBe(9n);
  });

  it("leaves out the keys of a creation, and never a revocation", async () => {
    const { state, round } = world([added(0), added(1), revoked(0, { address: "bb" })], 9n, 0n);
    await round();
    expect(state.changed).toEqual([["bb", 5n]]);
  });

  it("reads in bounded stretches and says when there is more", async () => {
    const { state, round } = world([], 600n, 10n);
    expect([await round(), await round(), await round(), await round()]).toEqual([true, true, false, false]);
    expect(state.asked).toEqual([
      [11n, 260n],
      [261n, 510n],
      [511n, 600n],
    ]);
  });

  it("begins a new chain at its newest block", async () => {
    const { state, round } = world([added()], 9n, undefined);
    await round();
    expect(state).toMatchObject({ height: 9n, changed: [], asked: [] });
  });

  it("does nothing while another has the lease, or with a node that is behind", async () => {
    const behind = world([added()], 9n, 12n);
    expect(await behind.round()).toBe(false);
    expect(behind.state.asked).toEqual([]);
    const { state, store, chain } = world([added()], 9n, 0n);
    const leased = { ...store, lease: async () => undefined };
    const raised = () => expect.unreachable();
    expect(await watchKeys({ store: leased, chain, lease, actions: freezeAll, raised }, signal)).toBe(false);
    expect(state).toMatchObject({ height: 0n, asked: [] });
  });
});

describe("alerts", () => {
  it("are raised for accounts of ours, each event once, and reported after the commit", async () => {
    const events = [added(), contract({ index: 1 }), contract({ address: "bb", transactionId: "u" })];
    const { state, round } = world(events, 9n, 0n, { managed: ["aa"] });
    await round();
    const expected = [
      { accountId: "account of aa", event: events[0], kind: "keys", freezes: true },
      { accountId: "account of aa", event: events[1], kind: "contracts", freezes: true },
    ];
    expect(state.alerts).toEqual(expected);
    expect(state.raised).toEqual(expected);
    expect(state.changed).toEqual([["aa", 5n]]);
  });

  it("freeze, alert only, or are left out, by their kind", async () => {
    const actions = { ...freezeAll, keys: "off", contracts: "alert", inbox: "off" } as const;
    const { state, round } = world([added(), contract({ index: 1 })], 9n, 0n, { actions, managed: ["aa"] });
    await round();
    expect(state.alerts.map(({ kind, freezes }) => [kind, freezes])).toEqual([["contracts", false]]);
    // The list of keys follows the chain nevertheless; what is off and needed for nothing else is not even
    // asked for.
    expect(state.changed).toEqual([["aa", 5n]]);
    expect(state.types.filter((type) => /Key|Inbox/.test(type))).toEqual([
      "flow.AccountKeyAdded",
      "flow.AccountKeyRemoved",
    ]);
  });

  it("wait for a node that does not show the transaction yet, and are raised for one that it will never show", async () => {
    const none = { managed: ["aa"], transaction: async () => undefined };
    const young = world([contract()], 9n, 0n, none);
    await expect(young.round()).rejects.toThrow("is not shown yet");
    expect(young.state).toMatchObject({ height: 0n, alerts: [] });
    const old = world([contract()], 700n, 0n, none);
    await old.round();
    expect(old.state.alerts).toHaveLength(1);
  });

  it("of one account and kind are few in a stretch, so that a flood hides nothing else of it and keeps nobody's waiting", async () => {
    const flood = Array.from({ length: 5_000 }, (_, index) => contract({ index, transactionId: `t${index}` }));
    const read: string[] = [];
    const behind = [added(2, { transactionId: "u" }), contract({ address: "bb", transactionId: "u" })];
    const { state, round } = world([...flood, ...behind], 9n, 0n, {
      managed: ["aa", "bb"],
      transaction: async (id) => {
        read.push(id);
        return strange;
      },
    });
    await round();
    expect(state.alerts.map(({ event }) => event)).toEqual([...flood.slice(0, MOST_OF_A_KIND), ...behind]);
    expect(read).toHaveLength(MOST_OF_A_KIND + 1);
  });

  it("are not reported where another replica has moved the height", async () => {
    const { state, store, chain } = world([contract()], 9n, 0n, { managed: ["aa"] });
    const raised = () => expect.unreachable();
    const late = { ...store, advance: async () => false };
    expect(await watchKeys({ store: late, chain, lease, actions: freezeAll, raised }, signal)).toBe(false);
    expect(state.alerts).toEqual([]);
  });

  it("need one key of an account, not all: the list of one with a hundred thousand stops nobody's watch", async () => {
    const address = "01cf0e2f2f715450";
    const change: KeyChange = { template: "revoke-user-key", oldKey: "ab".repeat(64) };
    const template = {
      script: keyTemplateScript(change.template),
      arguments: keyChangeArguments(change).map(encodeCadence),
      proposalKey: { address, keyId: 3, sequenceNumber: 0n },
      payer: "aa",
      authorizers: [address],
    };
    const key = { index: 3, publicKey: "", signatureAlgorithm: "ECDSA_P256", sequenceNumber: 0n, revoked: false };
    const roles = { own: "user", service: "server" } as const;
    for (const [by, role] of Object.entries(roles)) {
      const { weight } = KEY_ROLES[role];
      const hashAlgorithm = role === "server" ? "SHA3_256" : "SHA2_256";
      const { state, chain, round } = world([revoked(2, { address })], 9n, 0n, {
        managed: [address],
        transaction: async () => template,
        accountKey: async () => ({ ...key, weight, hashAlgorithm }),
      });
      Object.assign(chain, { accountKeys: () => Promise.reject(new Error("no answer from the access node")) });
      await round();
      expect([by, state.height, state.alerts.length]).toEqual([by, 9n, by === "own" ? 1 : 0]);
    }
  });
});
