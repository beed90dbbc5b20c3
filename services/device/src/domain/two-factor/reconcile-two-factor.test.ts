import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type PendingRequest, pendingRequest } from "../../testing/pending-request.ts";
import { refused } from "../../testing/two-factor-world.ts";
import { reconcileIfUnconfirmed, reconcileTwoFactor } from "./reconcile-two-factor.ts";
import type { TwoFactor } from "./two-factor.ts";

describe("reconciling an attempt", () => {
  let { world, old, asked, row } = {} as PendingRequest;
  /** The attempts that the account service was asked about. */
  let reconciled: string[];
  const reconcile = (request = row()) => reconcileTwoFactor(world.ports)(request, "test");

  beforeEach(async () => {
    ({ world, old, asked, row } = await pendingRequest());
    reconciled = [];
    const { reconcile: answer } = world.chain;
    world.chain.reconcile = (attempt) => {
      reconciled.push(attempt.attemptId);
      return answer.call(world.chain, attempt);
    };
  });

  it("asks about nothing where there is no attempt, or where its outcome is known", async () => {
    expect(await reconcile()).toEqual(asked);
    const attempted = { ...asked, attemptId: v7() };
    for (const status of ["rejected", "expired", "finished", "failed"] as const)
      expect(await reconcile({ ...attempted, status })).toMatchObject({ status });
    const sealed = { ...attempted, status: "approved", sealedAt: world.clock.now() } as const;
    expect(await reconcile(sealed)).toBe(sealed);
    const finished = { ...attempted, status: "finished", sealedAt: null } as const;
    expect(await reconcile(finished)).toBe(finished);
    expect(reconciled).toEqual([]);
  });

  it("lets the request wait again where nothing was submitted", async () => {
    world.chain.submission = "lost-before";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    expect(await reconcile()).toMatchObject({ status: "pending", attemptId: null, approverId: null });
  });

  it("ends an approved request whose attempt was abandoned: it cannot wait again", async () => {
    await world.sign(old, asked.id, asked.message);
    world.chain.attempts.clear();
    expect(await reconcile()).toMatchObject({ status: "failed", reconcileAt: null });
  });

  it("asks about an attempt under way only once its outcome is overdue: asking would end it", async () => {
    const unconfirmed = (change: Partial<TwoFactor>) =>
      reconcileIfUnconfirmed(world.ports, { ...asked, ...change }, "test");
    const attemptId = v7();
    const now = world.clock.now();
    await unconfirmed({ attemptId, reconcileAt: null });
    await unconfirmed({ attemptId, reconcileAt: new Date(now.getTime() + 1) });
    expect(reconciled).toEqual([]);
    await unconfirmed({ attemptId, reconcileAt: now });
    expect(reconciled).toEqual([attemptId]);
  });

  it("is not started by describing a pending request", async () => {
    world.chain.submission = "lost-before";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    const { accountId, id } = asked;
    const { request } = await world.describe({ accountId, id, requestId: "test" });
    expect(request).toMatchObject({ status: "pending", attemptId: expect.any(String) });
    expect(reconciled).toEqual([]);
  });

  it("that fails for a reason that nobody knows is no description of the request", async () => {
    await world.sign(old, asked.id, asked.message);
    world.chain.reconcile = async () => {
      throw new TypeError("a defect");
    };
    const { accountId, id } = asked;
    await expect(world.describe({ accountId, id, requestId: "test" })).rejects.toThrow("a defect");
  });
});
