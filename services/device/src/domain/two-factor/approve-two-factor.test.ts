import { randomBytes } from "node:crypto";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type PendingRequest, pendingRequest } from "../../testing/pending-request.ts";
import { LIFE_MS, refused } from "../../testing/two-factor-world.ts";
import { MAX_WRONG_APPROVALS } from "./approve-two-factor.ts";

const TX = "ab".repeat(32);

describe("approveTwoFactor", () => {
  let { world, store, accountId, old, asked, row, statuses } = {} as PendingRequest;
  beforeEach(async () => {
    ({ world, store, accountId, old, asked, row, statuses } = await pendingRequest());
  });

  describe("with a signature", () => {
    it.each(["id", "messageId"] as const)(
      "submits the signed message and emits one event, named by its %s",
      async (name) => {
        await world.sign(old, asked[name], asked.message);
        expect(row()).toMatchObject({ status: "approved", approverId: old.device.id, sealedAt: null });
        expect(world.chain.submissions).toEqual([row().attemptId]);
        expect(row().result?.id).toMatch(/^[0-9a-f]{64}$/);
        expect(statuses()).toEqual(["pending", "approved"]);
      },
    );

    it("takes what a passkey signed, for the app's relying party", async () => {
      const { message } = asked;
      for (const wrong of [
        { said: { client: { origin: "https://evil.example" } } },
        { said: { rpId: "evil.example" } },
        { said: { flags: 0x19 } },
        { challenge: randomBytes(16) },
      ]) {
        await expect(world.assert(old, asked.id, message, wrong)).rejects.toMatchObject(refused("InvalidSignature"));
      }
      expect(row()).toMatchObject({ status: "pending", wrongApprovals: 4 });
      await world.assert(old, asked.id, message);
      expect(row().status).toBe("approved");
    });

    it("distinguishes an assertion over an earlier message from a wrong one", async () => {
      world.chain.renew();
      const { request } = await world.get({ session: old.session, twoFactorId: asked.id, requestId: "test" });
      await expect(world.assert(old, request.id, asked.message)).rejects.toMatchObject(refused("MessageRenewed"));
      expect(row().wrongApprovals).toBe(0);
    });

    it("lets one of two approvals at once win", async () => {
      const other = await world.device(accountId);
      const both = [world.sign(old, asked.id, asked.message), world.sign(other, asked.id, asked.message)];
      const results = await Promise.allSettled(both);
      expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      expect(results.find((result) => result.status === "rejected")?.reason).toMatchObject({
        reason: "TwoFactorAuthNotPending",
      });
      expect(world.chain.submissions).toHaveLength(1);
    });

    it("refuses an old request id and a signature over an old message, and counts neither", async () => {
      world.chain.renew();
      const { request } = await world.get({ session: old.session, twoFactorId: asked.id, requestId: "test" });
      expect(request.messageId).not.toBe(asked.messageId);
      await expect(world.sign(old, asked.messageId, request.message)).rejects.toMatchObject(refused("MessageRenewed"));
      await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("MessageRenewed"));
      expect(row().wrongApprovals).toBe(0);
      await world.sign(old, request.messageId, request.message);
      expect(row().status).toBe("approved");
    });

    it("submits nothing where the message is renewed between check and commitment", async () => {
      const { take } = store;
      store.take = async (id, step, context) => {
        store.take = take;
        await world.redirect({ session: old.session, twoFactorId: id, destDeviceId: old.device.id, requestId: "test" });
        return take(id, step, context);
      };
      await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("MessageRenewed"));
      expect(row()).toMatchObject({ status: "pending", attemptId: null });
      expect(world.chain.submissions).toEqual([]);
    });

    it("counts wrong signatures and stops after the last one, the right one included", async () => {
      const wrong = signMessage(old.keys.privateKey, Buffer.from("something else"));
      for (let tries = 0; tries < MAX_WRONG_APPROVALS; tries++) {
        await expect(world.approveWith(old, asked.id, wrong)).rejects.toMatchObject(refused("InvalidSignature"));
      }
      const limited = { reason: "RateLimited", retryAfterSeconds: LIFE_MS / 1000 };
      await expect(world.approveWith(old, asked.id, wrong)).rejects.toMatchObject(limited);
      await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(limited);
      expect(world.chain.submissions).toEqual([]);
    });

    it("answers at most five wrong signatures however many come at once", async () => {
      const wrong = signMessage(old.keys.privateKey, Buffer.from("something else"));
      const results = await Promise.allSettled(
        Array.from({ length: 12 }, () => world.approveWith(old, asked.id, wrong)),
      );
      const reasons = results.map((result) => (result.status === "rejected" ? result.reason.reason : "approved"));
      expect(reasons.filter((reason) => reason === "InvalidSignature")).toHaveLength(MAX_WRONG_APPROVALS);
      expect(reasons.filter((reason) => reason === "RateLimited")).toHaveLength(12 - MAX_WRONG_APPROVALS);
    });

    it("is refused to account keys that are in no Flow account, and not counted", async () => {
      const accountKey = generateKeyPair("EdDSA");
      const approver = { ...old, keys: accountKey, session: { ...old.session, accountKey: accountKey.publicKey } };
      const approval = () => world.sign(approver, asked.id, asked.message);
      await expect(approval()).rejects.toMatchObject(refused("UnsupportedKey"));
      expect(row()).toMatchObject({ status: "pending", wrongApprovals: 0 });
      await world.sign(old, asked.id, asked.message);
      await expect(approval()).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    });

    it("counts bytes that are no signature at all as a wrong one", async () => {
      await expect(world.approveWith(old, asked.id, new Uint8Array(10))).rejects.toMatchObject(
        refused("InvalidSignature"),
      );
      expect(row()).toMatchObject({ status: "pending", wrongApprovals: 1 });
    });
  });

  describe("again, by the device that approved", () => {
    const notPending = refused("TwoFactorAuthNotPending");

    it("succeeds with a signature over the same message, before and after the end, and changes nothing", async () => {
      await world.sign(old, asked.id, asked.message);
      const approved = row();
      for (const name of [asked.id, asked.messageId]) await world.sign(old, name, asked.message);
      expect(row()).toEqual(approved);
      world.chain.decide("sealed");
      const { accountId: account, id } = asked;
      await world.describe({ accountId: account, id, requestId: "test" });
      await world.finish({ accountId: account, id, requestId: "test" });
      await world.sign(old, asked.id, asked.message);
      expect(row().status).toBe("finished");
      expect(statuses()).toEqual(["pending", "approved", "sealed", "finished"]);
      expect(world.chain.submissions).toHaveLength(1);
    });

    it("succeeds with the transaction that decided, and with no other", async () => {
      await world.report(old, asked.id, TX);
      await world.report(old, asked.id, TX);
      await expect(world.report(old, asked.id, "cd".repeat(32))).rejects.toMatchObject(notPending);
      expect(statuses()).toEqual(["pending", "approved"]);
    });

    it("succeeds with a signature where its transaction decided, and not the other way round", async () => {
      await world.report(old, asked.id, TX);
      await world.sign(old, asked.id, asked.message);
      expect(world.chain.submissions).toEqual([]);
      const second = (await world.open(world.enrollmentRequest(accountId))).request;
      await world.sign(old, second.id, second.message);
      await expect(world.report(old, second.id, TX)).rejects.toMatchObject(notPending);
    });

    it("does not with another signature, which is not counted either, nor by another device", async () => {
      await world.sign(old, asked.id, asked.message);
      const wrong = signMessage(old.keys.privateKey, Buffer.from("something else"));
      await expect(world.approveWith(old, asked.id, wrong)).rejects.toMatchObject(notPending);
      await expect(world.approveWith(old, asked.id, new Uint8Array(64))).rejects.toMatchObject(notPending);
      const other = await world.device(accountId);
      await expect(world.sign(other, asked.id, asked.message)).rejects.toMatchObject(notPending);
      await expect(
        world.reject({ session: old.session, twoFactorId: asked.id, requestId: "test" }),
      ).rejects.toMatchObject(notPending);
      expect(row().wrongApprovals).toBe(0);
    });

    it("does not once the chain has refused", async () => {
      await world.sign(old, asked.id, asked.message);
      world.chain.decide("failed");
      await world.describe({ accountId, id: asked.id, requestId: "test" });
      expect(row().status).toBe("failed");
      await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(notPending);
    });

    it("waits while the first is under way, and both succeed in the end", async () => {
      const both = await Promise.allSettled([1, 2].map(() => world.sign(old, asked.id, asked.message)));
      const [failed] = both.filter((result) => result.status === "rejected");
      if (failed) expect(failed.reason).toMatchObject({ ...notPending, retryAfterSeconds: 1 });
      await world.sign(old, asked.id, asked.message);
      expect(world.chain.submissions).toHaveLength(1);
      expect(statuses()).toEqual(["pending", "approved"]);
    });
  });

  describe("with a transaction", () => {
    it("takes what the chain has sealed since the request was first made", async () => {
      world.clock.advance(1000);
      world.chain.renew();
      await world.get({ session: old.session, twoFactorId: asked.id, requestId: "test" });
      await world.report(old, asked.messageId, TX);
      expect(world.chain.notBefore).toEqual([asked.requestedAt]);
      expect(world.chain.firstMessages).toEqual([asked.message]);
      expect(row()).toMatchObject({ status: "approved", sealedAt: world.clock.now(), keyIndex: 3, result: { id: TX } });
      expect(statuses()).toEqual(["pending", "pending", "approved"]);
    });

    it("passes a pending transaction on, and counts a wrong one", async () => {
      world.chain.verification = "TransactionPending";
      await expect(world.report(old, asked.id, TX)).rejects.toMatchObject(refused("TransactionPending"));
      expect(row().wrongApprovals).toBe(0);
      world.chain.verification = "TransactionMismatch";
      for (let tries = 0; tries < MAX_WRONG_APPROVALS; tries++) {
        await expect(world.report(old, asked.id, TX)).rejects.toMatchObject(refused("TransactionMismatch"));
      }
      await expect(world.report(old, asked.id, TX)).rejects.toMatchObject(refused("RateLimited"));
      expect(row().status).toBe("pending");
    });

    it("does not overtake a signature that is being submitted", async () => {
      const [signed, reported] = await Promise.allSettled([
        world.sign(old, asked.id, asked.message),
        world.report(old, asked.id, TX),
      ]);
      const won = [signed, reported].filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
      expect(statuses().filter((status) => status === "approved")).toHaveLength(1);
    });
  });

  it("is for the account's registered devices only, and not for the asking one", async () => {
    const outsider = await world.device(v7());
    await expect(world.sign(outsider, asked.id, asked.message)).rejects.toMatchObject(refused("TwoFactorAuthNotFound"));
    const removed = { ...old, session: { ...old.session, deviceKey: outsider.keys.publicKey } };
    await expect(world.sign(removed, asked.id, asked.message)).rejects.toMatchObject(refused("SessionEnded"));
    const itself = { ...old, session: { ...old.session, accountKey: asked.userKey.accountKey } };
    await expect(world.sign(itself, asked.id, asked.message)).rejects.toMatchObject(refused("InsufficientScope"));
    expect(row().status).toBe("pending");
  });

  it.each(["sign", "report"] as const)(
    "is for the account's recovery key as well, in its session's name (%s)",
    async (way) => {
      const keys = generateKeyPair();
      const key = { deviceKey: keys.publicKey, accountKey: keys.publicKey };
      const recovering = { ...old, keys, session: { ...old.session, ...key, recoverySessionId: v7() } };
      const approve = () =>
        way === "sign" ? world.sign(recovering, asked.id, asked.message) : world.report(recovering, asked.id, TX);
      await approve();
      expect(row()).toMatchObject({ status: "approved", approverId: recovering.session.recoverySessionId });
      await approve();
      const another = { ...recovering, session: { ...recovering.session, recoverySessionId: v7() } };
      const late = way === "sign" ? world.sign(another, asked.id, asked.message) : world.report(another, asked.id, TX);
      await expect(late).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    },
  );

  it("is for the recovery key though a device has used up the wrong approvals, which has as many of its own", async () => {
    const keys = generateKeyPair();
    const key = { deviceKey: keys.publicKey, accountKey: keys.publicKey };
    const recovering = { ...old, keys, session: { ...old.session, ...key, recoverySessionId: v7() } };
    const wrong = (by: typeof old) => world.approveWith(by, asked.id, new Uint8Array(64));
    for (let tries = 0; tries < MAX_WRONG_APPROVALS; tries++) await expect(wrong(old)).rejects.toThrow();
    await expect(wrong(old)).rejects.toMatchObject(refused("RateLimited"));
    for (let tries = 1; tries < MAX_WRONG_APPROVALS; tries++)
      await expect(wrong(recovering)).rejects.toMatchObject(refused("InvalidSignature"));
    await world.sign(recovering, asked.id, asked.message);
    expect(row().status).toBe("approved");
  });

  it.each(["sign", "report"] as const)("enrolls no device where the device limit is reached (%s)", async (way) => {
    for (let index = 1; index < 20; index++) await world.device(accountId);
    const approval = way === "sign" ? world.sign(old, asked.id, asked.message) : world.report(old, asked.id, TX);
    await expect(approval).rejects.toMatchObject(refused("TooManyDevices"));
    expect(row()).toMatchObject({ status: "pending", attemptId: null });
    expect(world.chain.submissions).toEqual([]);
  });

  it("enrolls one by the recovery key where a thief's devices have reached the device limit", async () => {
    for (let index = 1; index < 20; index++) await world.device(accountId);
    const keys = generateKeyPair();
    const key = { deviceKey: keys.publicKey, accountKey: keys.publicKey };
    await world.sign(
      { ...old, keys, session: { ...old.session, ...key, recoverySessionId: v7() } },
      asked.id,
      asked.message,
    );
    expect(row().status).toBe("approved");
  });

  it.each(["sign", "report"] as const)("enrolls no device while the account is frozen (%s)", async (way) => {
    world.frozen.add(accountId);
    const approval = way === "sign" ? world.sign(old, asked.id, asked.message) : world.report(old, asked.id, TX);
    await expect(approval).rejects.toMatchObject(refused("AccountFrozen"));
    expect(row()).toMatchObject({ status: "pending", attemptId: null });
  });

  it("is too late once the request is over", async () => {
    world.clock.advance(LIFE_MS);
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    expect(statuses()).toEqual(["pending", "expired"]);
  });
});
