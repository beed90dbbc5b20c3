import { beforeEach, describe, expect, it } from "vitest";
import { rememberFirstAsked } from "../../store/first-asked.ts";
import { accountId, address, chainName, key, signal } from "../../testing/chain-account.ts";
import { approver, options, world } from "../../testing/key-additions.ts";
import { verifyKeyRevocation } from "./verify-key-revocation.ts";

describe("a revocation that a client reports", () => {
  const transactionId = "ef".repeat(32);
  let verify: () => Promise<void>;

  beforeEach(() => {
    const command = { accountId, chainName, publicKey: approver.publicKey, transactionId };
    const check = verifyKeyRevocation({ ...options, firstAskedAt: rememberFirstAsked() });
    verify = () => check(command, signal);
  });

  it("is taken when the chain has revoked the key", async () => {
    world.keys = [{ ...key(1, approver.publicKey.publicKey), revoked: true }];
    const events = [{ type: "flow.AccountKeyRemoved", revokedKey: { address, keyIndex: 1 } }];
    world.outcome = { status: "sealed", height: 1001n, events };
    await verify();
  });

  it.each([
    ["another account's key", "179b6b1cb6755e31", 1],
    ["another key", address, 2],
  ])("is not taken of a transaction that revoked %s", async (_, ofAccount, keyIndex) => {
    world.keys = [1, 2].map((index) => ({ ...key(index, `${index}${index}`.repeat(64)), revoked: true }));
    world.keys[0] = { ...world.keys[0]!, publicKey: approver.publicKey.publicKey };
    const events = [{ type: "flow.AccountKeyRemoved", revokedKey: { address: ofAccount, keyIndex } }];
    world.outcome = { status: "sealed", height: 1001n, events };
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionMismatch" });
  });

  it("may be reported again while a node that lags behind shows the key as before, not where it is back", async () => {
    const revoked = key(1, approver.publicKey.publicKey);
    const events = [{ type: "flow.AccountKeyRemoved", revokedKey: { address, keyIndex: 1 } }];
    world.outcome = { status: "sealed", height: 1001n, events };
    world.keys = [revoked];
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending" });
    world.keys = [{ ...revoked, revoked: true }, key(2, approver.publicKey.publicKey)];
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionMismatch" });
  });

  it("may be reported again while the chain may still take it, and ends after that", async () => {
    world.outcome = { status: "unknown", events: [] };
    for (const height of [1_000, 1_650]) {
      world.height = height;
      await expect(verify()).rejects.toMatchObject({ reason: "TransactionPending", retryAfterSeconds: 1 });
    }
    world.height = 1_651;
    const unknown = { reason: "TransactionMismatch", detail: "The chain does not know this transaction" };
    await expect(verify()).rejects.toMatchObject(unknown);
  });

  it.each(["failed", "expired"] as const)("is not taken of a transaction that %s", async (status) => {
    world.keys = [{ ...key(1, approver.publicKey.publicKey), revoked: true }];
    world.outcome = { status, events: [{ type: "flow.AccountKeyRemoved", revokedKey: { address, keyIndex: 1 } }] };
    await expect(verify()).rejects.toMatchObject({ reason: "TransactionMismatch" });
  });
});
