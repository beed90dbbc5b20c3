import { beforeEach, describe, expect, it } from "vitest";
import { type PendingRequest, pendingRequest } from "../../testing/pending-request.ts";
import { LIFE_MS, refused } from "../../testing/two-factor-world.ts";

describe("describeEnrollment and finishTwoFactor", () => {
  let { world, store, accountId, old, asked } = {} as PendingRequest;
  const enrollment = (id = asked.id) => ({ accountId, id, requestId: "test" });

  beforeEach(async () => {
    ({ world, store, accountId, old, asked } = await pendingRequest());
  });

  it("waits for the approval and for the seal, then finishes once", async () => {
    const pending = { reason: "TwoFactorAuthPending", retryAfterSeconds: 1 };
    await expect(world.finish(enrollment())).rejects.toMatchObject(pending);
    await world.sign(old, asked.id, asked.message);
    await expect(world.finish(enrollment())).rejects.toMatchObject(pending);
    expect((await world.describe(enrollment())).request.sealedAt).toBeNull();

    world.chain.decide("sealed");
    const { request } = await world.describe(enrollment(asked.messageId));
    expect(request).toMatchObject({ status: "approved", sealedAt: world.clock.now(), keyIndex: 2, reconcileAt: null });
    expect((await world.finish(enrollment(asked.messageId))).request.status).toBe("finished");
    await expect(world.finish(enrollment())).rejects.toMatchObject(refused("TwoFactorAuthFinished"));
    expect(store.events.map(({ status }) => status)).toEqual(["pending", "approved", "sealed", "finished"]);
  });

  it("describes as it was while the account service does not answer", async () => {
    await world.sign(old, asked.id, asked.message);
    world.chain.decide("sealed");
    world.chain.down = true;
    expect((await world.describe(enrollment())).request).toMatchObject({ status: "approved", sealedAt: null });
  });

  it("stays admissible after the ephemeral token's end", async () => {
    await world.report(old, asked.id, "ab".repeat(32));
    world.clock.advance(2 * LIFE_MS);
    await world.sweep();
    expect((await world.finish(enrollment())).request.status).toBe("finished");
  });

  it.each(["failed", "sealed"] as const)("follows the chain when nobody asks: %s", async (fate) => {
    await world.sign(old, asked.id, asked.message);
    world.chain.decide(fate);
    world.clock.advance(1000);
    await world.sweep();
    const row = store.rows.get(asked.id)!;
    expect(row.status).toBe(fate === "failed" ? "failed" : "approved");
    expect(row.result?.id).toMatch(/^[0-9a-f]{64}$/);
    if (fate === "failed") {
      await expect(world.finish(enrollment())).rejects.toMatchObject(refused("TwoFactorAuthFailed"));
    }
  });

  it("says why not", async () => {
    const { request: second } = await world.open(world.enrollmentRequest(accountId));
    await world.reject({ session: old.session, twoFactorId: second.id, requestId: "test" });
    await expect(world.finish(enrollment(second.id))).rejects.toMatchObject(refused("TwoFactorAuthRejected"));
    world.clock.advance(LIFE_MS);
    await expect(world.finish(enrollment())).rejects.toMatchObject(refused("TwoFactorAuthExpired"));
  });
});
