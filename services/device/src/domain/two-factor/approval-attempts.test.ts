import { AppError } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type PendingRequest, pendingRequest } from "../../testing/pending-request.ts";
import { LIFE_MS, refused } from "../../testing/two-factor-world.ts";
import { MAX_WRONG_APPROVALS } from "./approve-two-factor.ts";
import { ATTEMPT_TIMEOUT_MS } from "./two-factor-state.ts";

describe("an approval by signature, whose transaction the account service submits", () => {
  let { world, store, accountId, old, asked, row, statuses } = {} as PendingRequest;
  beforeEach(async () => {
    ({ world, store, accountId, old, asked, row, statuses } = await pendingRequest());
  });

  it.each(["InvalidSignature", "SigningRefused", "MessageRenewed", "TooManyKeys"] as const)(
    "waits again after the account service's %s",
    async (reason) => {
      world.chain.submission = reason;
      await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused(reason));
      expect(row()).toMatchObject({ status: "pending", attemptId: null, approverId: null, reconcileAt: null });
      world.chain.submission = "submitted";
      await world.sign(old, asked.id, asked.message);
      expect(row().status).toBe("approved");
    },
  );

  // One attempt is under way at a time: a thief's phone whose approvals all fail could always have the next.
  it.each(["SigningRefused", "TooManyKeys", "lost-before"] as const)(
    "leaves a request to the recovery key after five of a device's that ended as %s",
    async (submission) => {
      const { request } = await world.open(world.enrollmentRequest(accountId, { recovering: true }));
      const approve = (by: typeof old) => world.sign(by, request.id, request.message);
      world.chain.submission = submission;
      for (let tries = 0; tries < MAX_WRONG_APPROVALS; tries++) await expect(approve(old)).rejects.toThrow();
      await expect(approve(old)).rejects.toMatchObject(refused("RateLimited"));
      const keys = generateKeyPair();
      const ofKey = { deviceKey: keys.publicKey, accountKey: keys.publicKey, recoverySessionId: v7() };
      const recovering = { ...old, keys, session: { ...old.session, ...ofKey } };
      for (let tries = 0; tries < 2 * MAX_WRONG_APPROVALS; tries++)
        await expect(approve(recovering)).rejects.not.toMatchObject(refused("RateLimited"));
      world.chain.submission = "submitted";
      await approve(recovering);
      expect(store.rows.get(request.id)!.status).toBe("approved");
    },
  );

  it("approves when the lost answer turns out to have been a submission", async () => {
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    expect(row()).toMatchObject({ status: "pending", attemptId: expect.any(String) });
    await world.sign(old, asked.id, asked.message);
    expect(row().status).toBe("approved");
    expect(world.chain.submissions).toHaveLength(1);
    expect(statuses()).toEqual(["pending", "approved"]);
  });

  it("refuses another device, since reconciling a lost answer shows the first approval", async () => {
    const other = await world.device(accountId);
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    const late = world.sign(other, asked.id, asked.message);
    await expect(late).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    expect(row()).toMatchObject({ status: "approved", approverId: old.device.id });
  });

  /**
   * Has the sweeper reconcile each attempt between its submission and the answer of the account service.
   */
  const sweepBeforeAnswer = (answer?: AppError) => {
    const { submit } = world.chain;
    world.chain.submit = async (...args) => {
      const transaction = await submit.apply(world.chain, args);
      world.clock.advance(ATTEMPT_TIMEOUT_MS);
      await world.sweep();
      if (answer) throw answer;
      return transaction;
    };
  };

  it("approves once where the sweeper notes the submission first", async () => {
    sweepBeforeAnswer();
    await world.sign(old, asked.id, asked.message);
    expect(row()).toMatchObject({ status: "approved", approverId: old.device.id });
    expect(statuses()).toEqual(["pending", "approved"]);
    expect(world.chain.submissions).toHaveLength(1);
  });

  it("does not succeed where the sweeper has noted that the chain refused the submission", async () => {
    const { submit } = world.chain;
    world.chain.submit = async (...args) => {
      const transaction = await submit.apply(world.chain, args);
      world.chain.decide("failed");
      world.clock.advance(ATTEMPT_TIMEOUT_MS);
      await world.sweep();
      return transaction;
    };
    const late = world.sign(old, asked.id, asked.message);
    await expect(late).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
    expect(row().status).toBe("failed");
  });

  it("answers with the error of a submission that the sweeper has noted, and succeeds when asked again", async () => {
    sweepBeforeAnswer(new AppError("Unavailable"));
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    await world.sign(old, asked.id, asked.message);
    expect(world.chain.submissions).toHaveLength(1);
  });

  it("does not succeed where the request was approved by another attempt", async () => {
    const { submit } = world.chain;
    world.chain.submit = async (...args) => {
      const transaction = await submit.apply(world.chain, args);
      store.rows.set(asked.id, { ...row(), status: "approved", attemptId: v7(), approverId: v7() });
      return transaction;
    };
    const late = world.sign(old, asked.id, asked.message);
    await expect(late).rejects.toMatchObject(refused("TwoFactorAuthNotPending"));
  });

  it("approves again when nothing was submitted", async () => {
    world.chain.submission = "lost-before";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    const [first] = [row().attemptId];
    world.chain.submission = "submitted";
    await world.sign(old, asked.id, asked.message);
    expect(row().attemptId).not.toBe(first);
    expect(world.chain.submissions).toEqual([row().attemptId]);
  });

  it("does not expire under an approval whose outcome is open", async () => {
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    world.clock.advance(LIFE_MS + 1);
    world.chain.down = true;
    await world.sweep();
    expect(row().status).toBe("pending");
    world.chain.down = false;
    world.clock.advance(ATTEMPT_TIMEOUT_MS);
    await world.sweep();
    expect(row().status).toBe("approved");
  });
});
