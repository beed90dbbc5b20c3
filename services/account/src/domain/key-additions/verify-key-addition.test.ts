import { beforeEach, describe, expect, it } from "vitest";
import { rememberFirstAsked } from "../../store/first-asked.ts";
import { address, key, signal } from "../../testing/chain-account.ts";
import { newDevice, options, prepare, target, world } from "../../testing/key-additions.ts";
import type { KeyAdditionEvent } from "./key-addition.ts";
import type { FirstAskedAt } from "./named-transaction.ts";
import { verifyKeyAddition } from "./verify-key-addition.ts";

describe("a transaction that a client names", () => {
  const transactionId = "ef".repeat(32);
  const notBefore = new Date("2026-11-20T10:00:00.000Z");
  const added = (change: object = {}): KeyAdditionEvent => ({
    type: "flow.AccountKeyAdded",
    addedKey: { address, publicKey: newDevice.publicKey, keyIndex: 2, weight: 1, hashAlgorithm: 1, ...change },
  });
  const fees: KeyAdditionEvent = { type: "A.e5a8b7f23e8b548f.FlowFees.FeesDeducted" };
  let firstMessage: Uint8Array;
  let firstAskedAt: FirstAskedAt;
  const verify = (id = transactionId, byRecoveryKey = false) => {
    const command = { ...target, transactionId: id, notBefore, firstMessage, byRecoveryKey };
    return verifyKeyAddition({ ...options, firstAskedAt })(command, signal);
  };

  beforeEach(async () => {
    firstMessage = await prepare();
    firstAskedAt = rememberFirstAsked(2);
    world.keys = [...world.keys, key(2, newDevice.publicKey)];
    world.outcome = { status: "sealed", height: 1001n, before: notBefore, events: [added(), fees] };
  });

  it("is taken when it did exactly that", async () => {
    expect(await verify()).toBe(2);
    world.outcome = { status: "sealed", height: 1001n, events: world.outcome.events };
    expect(await verify(), "in the youngest block").toBe(2);
  });

  it("of a device is refused beyond the key limit: a thief's could use up what the recovery key has left", async () => {
    world.keys = [...world.keys, key(3, "33".repeat(64))];
    expect(await verify()).toBe(2);
    world.keys = [...world.keys, key(4, "44".repeat(64))];
    await expect(verify()).rejects.toMatchObject({ reason: "TooManyKeys" });
    expect(await verify(transactionId, true)).toBe(2);
  });

  it("is asked about again while a node that lags behind does not show the key", async () => {
    world.keys = world.keys.slice(0, 2);
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending" });
  });

  it.each<[string, () => void]>([
    ["failed", () => (world.outcome = { ...world.outcome, status: "failed" })],
    ["expired before it ran", () => (world.outcome = { status: "expired", events: [] })],
    [
      "is older than the request",
      () => (world.outcome = { ...world.outcome, before: new Date("2026-11-20T09:59:59.999Z") }),
    ],
    ["ran before the request's first message", () => (world.outcome = { ...world.outcome, height: 1000n })],
    ["is in no block that is known", () => (world.outcome = { status: "sealed", events: world.outcome.events })],
    [
      "added another key",
      () => (world.outcome = { ...world.outcome, events: [added({ publicKey: "ee".repeat(64) })] }),
    ],
    [
      "added it elsewhere",
      () => (world.outcome = { ...world.outcome, events: [added({ address: "179b6b1cb6755e31" })] }),
    ],
    ["added it with another weight", () => (world.outcome = { ...world.outcome, events: [added({ weight: 1000 })] })],
    ["added it with another hash", () => (world.outcome = { ...world.outcome, events: [added({ hashAlgorithm: 3 })] })],
    ["added it twice", () => (world.outcome = { ...world.outcome, events: [added(), added({ keyIndex: 3 })] })],
    [
      "removed a key too",
      () => (world.outcome = { ...world.outcome, events: [added(), { type: "flow.AccountKeyRemoved" }] }),
    ],
    [
      "set a contract too",
      () => (world.outcome = { ...world.outcome, events: [added(), { type: "flow.AccountContractAdded" }] }),
    ],
    [
      "gave a capability out",
      () => (world.outcome = { ...world.outcome, events: [added(), { type: "flow.InboxValuePublished" }] }),
    ],
    ["did nothing", () => (world.outcome = { ...world.outcome, events: [fees] })],
    [
      "added it, and it is revoked",
      () => (world.keys = world.keys.map((each) => ({ ...each, revoked: each.index === 2 }))),
    ],
    [
      "added it, and it stands elsewhere now",
      () => (world.keys = [...world.keys.slice(0, 2), key(3, newDevice.publicKey)]),
    ],
  ])("is not when it %s", async (_, change) => {
    change();
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionMismatch" });
  });

  it.each(["unknown", "pending"] as const)("may be asked for again while it is %s", async (status) => {
    world.outcome = { status, events: [] };
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending", retryAfterSeconds: 1 });
  });

  it("is given up when the chain has outlived its reference block and still does not know it", async () => {
    const pending = { reason: "TransactionPending" };
    const sealed = world.outcome;
    world.outcome = { status: "unknown", events: [] };
    for (const height of [1_000, 1_001, 1_650]) {
      world.height = height;
      await expect(verify()).rejects.toMatchObject(pending);
    }
    world.height = 1_651;
    const unknown = { reason: "TransactionMismatch", detail: "The chain does not know this transaction" };
    for (let times = 0; times < 2; times++) await expect(verify()).rejects.toMatchObject(unknown);
    // Another one has its own time; and a node that was behind all along is believed in the end.
    await expect(verify("cd".repeat(32))).rejects.toMatchObject(pending);
    world.outcome = sealed;
    expect(await verify()).toBe(2);
  });

  it("waits for one that is pending, however long", async () => {
    world.outcome = { status: "pending", events: [] };
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending" });
    world.height = 9_000;
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending" });
  });

  it("remembers so many unknown ones and no more: a forgotten one is waited for again", async () => {
    world.outcome = { status: "unknown", events: [] };
    const ids = ["01", "02", "03"].map((byte) => byte.repeat(32));
    for (const id of ids) await expect(verify(id)).rejects.toMatchObject({ reason: "TransactionPending" });
    world.height = 2_000;
    const reasons = await Promise.all(ids.toReversed().map((id) => verify(id).catch(({ reason }) => reason)));
    expect(reasons).toEqual(["TransactionMismatch", "TransactionMismatch", "TransactionPending"]);
  });
});
