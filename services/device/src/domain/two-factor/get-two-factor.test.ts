import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { type PendingRequest, pendingRequest } from "../../testing/pending-request.ts";
import { LIFE_MS, refused } from "../../testing/two-factor-world.ts";

describe("reading requests", () => {
  let { world, store, accountId, old, asked } = {} as PendingRequest;
  const of = (id = asked.id) => ({ session: old.session, twoFactorId: id, requestId: "test" });

  beforeEach(async () => {
    ({ world, store, accountId, old, asked } = await pendingRequest());
  });

  it("renews the message under a new request id, once, and leaves the rest", async () => {
    world.chain.renew();
    const [first, second] = await Promise.all([world.get(of()), world.get(of(asked.messageId))]);
    expect(first.request.messageId).toBe(second.request.messageId);
    expect(first.request.messageId).not.toBe(asked.messageId);
    const { messageId, message } = first.request;
    expect(message).not.toEqual(asked.message);
    expect(first.request).toEqual({ ...asked, messageId, message });
    expect(store.events.map(({ status }) => status)).toEqual(["pending", "pending"]);
    expect((await world.get(of(asked.messageId))).request.messageId).toBe(messageId);
  });

  it("shows the old message while the chain does not answer", async () => {
    world.chain.renew();
    world.chain.down = true;
    expect((await world.get(of())).request).toEqual(asked);
  });

  it("does not show the old message where preparing another one fails for a reason that nobody knows", async () => {
    world.chain.prepare = async () => {
      throw new TypeError("a defect");
    };
    await expect(world.get(of())).rejects.toThrow("a defect");
  });

  it("does not renew what somebody is approving", async () => {
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    world.chain.renew();
    world.chain.prepare = async () => {
      throw new TypeError("asked for a message");
    };
    expect((await world.get(of())).request.messageId).toBe(asked.messageId);
  });

  it("finds an overdue request expired, with one event", async () => {
    world.clock.advance(LIFE_MS);
    const reads = await Promise.all([world.get(of()), world.get(of())]);
    for (const { request } of reads) expect(request.status).toBe("expired");
    expect(store.events.map(({ status }) => status)).toEqual(["pending", "expired"]);
  });

  it("lists newest first what has the status now", async () => {
    world.clock.advance(LIFE_MS - 1000);
    const { request: young } = await world.open(world.enrollmentRequest(accountId));
    await world.open(world.enrollmentRequest(v7()));
    const list = async (status?: "pending" | "expired") =>
      (await world.list({ session: old.session, status, requestId: "test" })).map(({ request }) => request.id);
    expect(await list("pending")).toEqual([young.id, asked.id]);
    world.clock.advance(1000);
    expect(await list("pending")).toEqual([young.id]);
    expect(await list("expired")).toEqual([asked.id]);
    expect(await list()).toEqual([young.id, asked.id]);
  });

  it("finds nothing of other accounts, nor what never was", async () => {
    const outsider = await world.device(v7());
    const notFound = refused("TwoFactorAuthNotFound");
    const byOutsider = { ...of(), session: outsider.session };
    await expect(world.get(byOutsider)).rejects.toMatchObject(notFound);
    await expect(world.reject(byOutsider)).rejects.toMatchObject(notFound);
    await expect(world.redirect({ ...byOutsider, destDeviceId: outsider.device.id })).rejects.toMatchObject(notFound);
    await expect(world.get(of(v7()))).rejects.toMatchObject(notFound);
    const enrollment = { accountId: outsider.device.accountId, id: asked.id, requestId: "test" };
    await expect(world.describe(enrollment)).rejects.toMatchObject(notFound);
    await expect(world.finish(enrollment)).rejects.toMatchObject(notFound);
  });
});
