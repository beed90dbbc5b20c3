import { decodeMessage, readTemplate } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import {
  accountId,
  accounts,
  address,
  block,
  chainName,
  key,
  paymaster,
  serverKeyAt,
  signal,
} from "../../testing/chain-account.ts";
import type { AccountKey } from "../key-additions/key-addition.ts";
import { type MessageChain, prepareMessage, type WantedChange } from "./prepare-message.ts";

const [serverKey, deviceKey, recoveryKey] = ["cd", "11", "22"].map((byte) => byte.repeat(64)) as [
  string,
  string,
  string,
];
const recovery = key(2, recoveryKey, { weight: 999 });
const newKey = generateKeyPair().publicKey;
const other = "179b6b1cb6755e31";
const hybridCustody = {
  contract: "aa".repeat(8),
  viewResolver: "bb".repeat(8),
  factory: "cc".repeat(8),
  filter: "dd".repeat(8),
};

let keys: AccountKey[];
let chain: MessageChain;
beforeEach(() => {
  keys = [serverKeyAt(0, serverKey), key(1, deviceKey)];
  chain = {
    chainName,
    paymaster,
    latestBlock: async () => ({ id: block(1000), height: 1000n }),
    accountKeys: async () => keys,
  };
});
const prepare = (change: WantedChange, on = chainName) =>
  prepareMessage({ accounts, chains: new Map([[chainName, chain]]) })({ accountId, chainName: on, change }, signal);

describe("a prepared message", () => {
  it.each<[WantedChange, object]>([
    [
      { template: "add-recovery-key", newKey },
      { template: "add-recovery-key", serverKey, newKey },
    ],
    [
      { template: "revoke-user-key", oldKey: deviceKey },
      { template: "revoke-user-key", oldKey: deviceKey },
    ],
    [
      { template: "publish-parent-link", other },
      { template: "publish-parent-link", other },
    ],
    [
      { template: "claim-parent-link", other },
      { template: "claim-parent-link", other },
    ],
    [
      { template: "remove-parent-link", other },
      { template: "remove-parent-link", other },
    ],
  ])("is what the signer reads as that template: %j", async (change, read) => {
    const decoded = decodeMessage(await prepare(change));
    expect(readTemplate(decoded, undefined)).toEqual(read);
    expect(decoded).toMatchObject({
      kind: "payload",
      authorizers: [address],
      payer: paymaster,
      gasLimit: 9999n,
      referenceBlockId: block(1000),
      proposalKey: { address, keyId: 0, sequenceNumber: 5n },
    });
  });

  it("names the recovery key and the server key that are on chain", async () => {
    keys = [key(3, "33".repeat(64), { weight: 999, revoked: true }), ...keys, recovery];
    const replaced = decodeMessage(await prepare({ template: "replace-recovery-key", newKey }));
    const oldKey = recoveryKey;
    expect(readTemplate(replaced, undefined)).toEqual({ template: "replace-recovery-key", serverKey, oldKey, newKey });
    const revoked = decodeMessage(await prepare({ template: "revoke-recovery-key" }));
    expect(readTemplate(revoked, undefined)).toEqual({ template: "revoke-recovery-key", serverKey, oldKey });
  });

  it("is HybridCustody's where the network has it, and refused elsewhere", async () => {
    const change = { template: "set-up-hybrid-custody", other } as const;
    await expect(prepare(change)).rejects.toMatchObject({
      reason: "InvalidRequest",
      detail: "Some fields are not valid",
      fields: [{ pointer: "/template", detail: `${chainName} has no HybridCustody to link through` }],
    });
    chain = { ...chain, hybridCustody };
    expect(readTemplate(decodeMessage(await prepare(change)), hybridCustody)).toEqual(change);
    const end = { template: "end-hybrid-custody" } as const;
    expect(readTemplate(decodeMessage(await prepare(end)), hybridCustody)).toEqual(end);
  });
});

describe("a change that the chain would refuse is refused at once", () => {
  it("a chain that is none, naming those there are", async () => {
    await expect(prepare({ template: "revoke-recovery-key" }, "nowhere")).rejects.toMatchObject({
      reason: "UnknownChain",
      detail: `No chain "nowhere"; available: "${chainName}"`,
    });
  });

  it("a second recovery key, and the change of one that is not there", async () => {
    await expect(prepare({ template: "replace-recovery-key", newKey })).rejects.toMatchObject({
      reason: "KeyNotFound",
    });
    await expect(prepare({ template: "revoke-recovery-key" })).rejects.toMatchObject({ reason: "KeyNotFound" });
    keys.push(recovery);
    await expect(prepare({ template: "add-recovery-key", newKey })).rejects.toMatchObject({
      reason: "KeyAlreadyRegistered",
    });
  });

  it("a recovery key that is on the account, also its negation", async () => {
    keys.push(key(2, `${newKey.publicKey.slice(0, 64)}${"00".repeat(32)}`));
    const work = prepare({ template: "add-recovery-key", newKey });
    await expect(work).rejects.toMatchObject({ reason: "KeyAlreadyRegistered" });
  });

  it("a key that the chain cannot carry", async () => {
    const ed25519 = generateKeyPair("EdDSA").publicKey;
    const work = prepare({ template: "add-recovery-key", newKey: ed25519 });
    await expect(work).rejects.toMatchObject({ reason: "UnsupportedKey" });
  });

  it("the revocation of a key that is no active user key", async () => {
    keys.push(recovery, key(3, "33".repeat(64), { revoked: true }));
    for (const oldKey of [serverKey, recoveryKey, "33".repeat(64), "44".repeat(64)]) {
      await expect(prepare({ template: "revoke-user-key", oldKey })).rejects.toMatchObject({ reason: "KeyNotFound" });
    }
  });

  it("a link of an account with itself, and an account without a server key", async () => {
    const self = prepare({ template: "publish-parent-link", other: address });
    await expect(self).rejects.toMatchObject({
      reason: "InvalidRequest",
      detail: "Some fields are not valid",
      fields: [{ pointer: "/address", detail: "Is the account's own address" }],
    });
    keys = [key(1, deviceKey)];
    const left = prepare({ template: "publish-parent-link", other });
    await expect(left).rejects.toMatchObject({ reason: "AccountNotReady" });
  });
});
