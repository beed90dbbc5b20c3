import { AppError, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { type CrashPoint, ENROLLMENT_CALLS, twoFactorWorld } from "../../testing/two-factor-world.ts";
import type { Enrollment } from "./two-factor-sign-in.ts";

const SEALED = { keyIndex: 2, transaction: { id: "ab".repeat(32), chainName: "flow-emulator", refUrl: "" } };

describe("letting a new device in", () => {
  let world: ReturnType<typeof twoFactorWorld>;
  let accountId: string;
  let id: string;
  const refused = (reason: string) => expect.objectContaining({ reason });

  beforeEach(async () => {
    world = twoFactorWorld();
    accountId = world.account("ann");
    id = (await world.ask()).opened.id;
  });
  const token = (change: object = {}) => world.tokenOf(accountId, id, change);
  const finish = async () => world.finish(await token(), id);

  it("opens no session for a device that was on the account before the request", async () => {
    const keys = { accountKey: generateKeyPair().publicKey, deviceKey: generateKeyPair().publicKey };
    world.store.known.push(keys);
    const { id } = (await world.ask(keys)).opened;
    world.seal(id, 3);
    const finished = world.finish(await world.tokenOf(accountId, id), id);
    await expect(finished).rejects.toEqual(refused("TwoFactorAuthFinished"));
    expect(world.store.sessions).toEqual([]);
    expect(world.registrations).toHaveLength(2);
  });

  it("opens one session for requests with the same keys that were open at once", async () => {
    const keys = { accountKey: generateKeyPair().publicKey, deviceKey: generateKeyPair().publicKey };
    const ids = [(await world.ask(keys)).opened.id, (await world.ask(keys)).opened.id];
    const finishing = async (id: string) => world.finish(await world.tokenOf(accountId, id), id);
    for (const id of ids) world.seal(id, 3);
    await finishing(ids[0]!);
    await expect(finishing(ids[1]!)).rejects.toEqual(refused("TwoFactorAuthFinished"));
    expect(world.store.sessions).toHaveLength(1);
  });

  it("opens none for two requests with the same keys where both have enrolled the device before", async () => {
    const keys = { accountKey: generateKeyPair().publicKey, deviceKey: generateKeyPair().publicKey };
    const ids = [(await world.ask(keys)).opened.id, (await world.ask(keys)).opened.id];
    for (const id of ids) {
      world.seal(id, 3);
      await world.approved(accountId, id);
    }
    for (const id of ids) {
      const token = await world.tokenOf(accountId, id);
      await expect(world.finish(token, id)).rejects.toEqual(refused("TwoFactorAuthFinished"));
    }
    expect(world.store.sessions).toHaveLength(0);
  });

  it("registers key and device, then opens the session of the login that asked", async () => {
    world.seal(id, 3);
    const finished = await finish();
    const { deviceId } = world.requests.all.get(id)!.enrollment;
    expect(world.registrations).toEqual([
      { step: "key", accountId, keyIndex: 3 },
      { step: "device", accountId, deviceId },
    ]);
    expect(finished).toMatchObject({ accountId, chainName: "flow-emulator", transaction: { id: "ab".repeat(32) } });
    const [session] = world.store.sessions;
    const { accountKey, deviceKey, authTime } = world.store.rows.get(id)!;
    expect(session).toMatchObject({ accountId, accountKey: accountKey, deviceKey, authTime, app: { appId: "demo" } });
    expect(finished.credentials.accessToken).toBe(session!.id);
    expect(world.store.additions).toEqual([{ id, transaction: finished.transaction }]);
    await expect(finish()).rejects.toEqual(refused("TwoFactorAuthFinished"));
    world.store.verdict = "frozen";
    await expect(finish()).rejects.toEqual(refused("TwoFactorAuthFinished"));
  });

  it.each<[string, Partial<Enrollment>, string]>([
    ["nobody has approved", {}, "TwoFactorAuthPending"],
    ["the chain is still at it", { status: "approved" }, "TwoFactorAuthPending"],
    ["nobody has approved a key that the chain has", { status: "pending", sealed: SEALED }, "TwoFactorAuthPending"],
    ["it was rejected", { status: "rejected" }, "TwoFactorAuthRejected"],
    ["it has expired", { status: "expired" }, "TwoFactorAuthExpired"],
    ["the chain refused", { status: "failed" }, "TwoFactorAuthFailed"],
  ])("opens nothing while or when %s", async (_name, to, reason) => {
    world.decide(id, to);
    await expect(finish()).rejects.toEqual(refused(reason));
    expect(world.registrations).toEqual([]);
    expect(world.store.sessions).toEqual([]);
  });

  it.each<[Partial<Enrollment>, string]>([
    [{ status: "expired" }, "TwoFactorAuthExpired"],
    [{ status: "rejected" }, "TwoFactorAuthRejected"],
    [{}, "AccessTokenExpired"],
    [{ status: "approved" }, "AccessTokenExpired"],
  ])("shows an expired token how its request ended, and nothing else (%#)", async (to, reason) => {
    world.decide(id, to);
    await expect(world.finish(await token({ expiresAt: world.clock.now() }), id)).rejects.toEqual(refused(reason));
  });

  it("opens nothing to a token that is over, though its request was approved", async () => {
    world.seal(id);
    const late = world.finish(await token({ expiresAt: world.clock.now() }), id);
    await expect(late).rejects.toEqual(refused("AccessTokenExpired"));
    expect(world.registrations).toEqual([]);
    expect(world.store.sessions).toEqual([]);
  });

  it("opens nothing for a key that was revoked since it was registered", async () => {
    world.seal(id);
    await world.approved(accountId, id);
    world.registered.length = 0;
    await expect(finish()).rejects.toEqual(refused("PleaseRegisterKey"));
    expect(world.store.sessions).toEqual([]);
  });

  it("dates the session before its key was read: the event of a later revocation ends it", async () => {
    world.seal(id);
    await world.approved(accountId, id);
    world.clock.advance(3 * 60_000);
    const readAt = world.clock.now();
    world.requests.beforeFinish = async () => world.clock.advance(2_000);
    await finish();
    expect(world.store.sessions).toMatchObject([{ createdAt: readAt }]);
  });

  it("says when to retry", async () => {
    await expect(finish()).rejects.toMatchObject({ reason: "TwoFactorAuthPending", retryAfterSeconds: 1 });
    expect(world.polls()).toBe(1);
  });

  it("takes the ephemeral token of this very request only", async () => {
    world.seal(id);
    const full = await token({ scope: "full", twoFactorId: undefined });
    await expect(world.finish(full, id)).rejects.toEqual(refused("InsufficientScope"));
    await expect(world.finish({ ...full, twoFactorId: id }, id)).rejects.toEqual(refused("InsufficientScope"));
    const unnamed = world.finish({ ...full, scope: "sign" }, uuidv7(world.clock));
    await expect(unnamed).rejects.toEqual(refused("InsufficientScope"));
    const recover = await token({ scope: "recover", twoFactorId: undefined });
    await expect(world.finish(recover, id)).rejects.toEqual(refused("InsufficientScope"));

    const other = (await world.ask()).opened.id;
    await expect(world.finish(await world.tokenOf(accountId, other), id)).rejects.toEqual(refused("InsufficientScope"));
    const outsider = world.account("eve");
    const theirs = (await world.ask({ token: "eve/1" })).opened.id;
    const stolen = world.finish(await world.tokenOf(outsider, theirs), id);
    await expect(stolen).rejects.toEqual(refused("TwoFactorAuthNotFound"));
    await expect(world.finish(await token(), uuidv7(world.clock))).rejects.toEqual(refused("TwoFactorAuthNotFound"));
    expect(world.store.sessions).toEqual([]);
  });

  it("opens no session for a caller that is gone: the device may have signed in since", async () => {
    world.seal(id);
    const caller = new AbortController();
    world.requests.beforeFinish = async () => caller.abort();
    await expect(world.finish(await token(), id, caller.signal)).rejects.toEqual(refused("Unavailable"));
    expect(world.store.sessions).toEqual([]);
    await finish();
    expect(world.store.sessions).toHaveLength(1);
  });

  it("opens one session when it is finished many times at once", async () => {
    world.seal(id);
    const answers = await Promise.allSettled(Array.from({ length: 8 }, finish));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === "rejected") expect(answer.reason).toEqual(refused("TwoFactorAuthFinished"));
    }
    expect(world.store.sessions).toHaveLength(1);
  });

  it("goes on where a crash left it: marked as finished, and no session yet", async () => {
    world.seal(id);
    world.decide(id, { status: "finished" });
    await finish();
    expect(world.store.sessions).toHaveLength(1);
  });

  const crashes = ENROLLMENT_CALLS.flatMap((name) => [`before ${name}`, `after ${name}`] satisfies CrashPoint[]);
  it.each(crashes)("asked again after a crash %s ends with one session and one registration", async (at) => {
    world.seal(id);
    world.crash(at);
    await expect(finish()).rejects.toThrow("crashed");
    // After the session's commit the answer is lost: the device signs in by challenge.
    if (at === "after beginSession") await expect(finish()).rejects.toEqual(refused("TwoFactorAuthFinished"));
    else await finish();
    expect(world.store.sessions).toHaveLength(1);
    const distinct = new Set(world.registrations.map((each) => JSON.stringify(each)));
    expect(distinct.size).toBe(2);
    expect(world.requests.all.get(id)?.enrollment.status).toBe("finished");
  });

  it.each(crashes.slice(0, 6))("by the event after a crash %s is completed by its redelivery", async (at) => {
    world.seal(id);
    world.crash(at);
    await expect(world.approved(accountId, id)).rejects.toThrow("crashed");
    await world.approved(accountId, id);
    expect(world.registrations.map(({ step }) => step)).toEqual(expect.arrayContaining(["key", "device"]));
    expect(world.store.rows.get(id)?.enrolledAt).toBeDefined();
  });

  it("lets nobody into a frozen account, nor a key that was blocked meanwhile, nor other keys than were asked", async () => {
    world.seal(id);
    world.store.verdict = "frozen";
    await expect(finish()).rejects.toEqual(refused("AccountFrozen"));
    // The transaction is noted first: it blocks the key where its device was removed before.
    expect(world.store.additions).toHaveLength(1);
    await expect(world.approved(accountId, id)).rejects.toEqual(refused("AccountFrozen"));
    world.store.verdict = "blocked";
    await expect(finish()).rejects.toEqual(refused("PleaseRegisterKey"));
    await world.approved(accountId, id);
    world.store.verdict = "yes";
    world.decide(id, { accountKey: generateKeyPair().publicKey });
    await expect(finish()).rejects.toThrow("not the one that was opened");
    expect(world.registrations).toEqual([]);
    expect(world.requests.all.get(id)?.enrollment.status).toBe("approved");
  });

  it.each<[string, Partial<Enrollment>]>([
    ["id", { id: "01900000-0000-7000-8000-000000000009" }],
    ["chain", { chainName: "flow-other" }],
    ["account key", { accountKey: generateKeyPair().publicKey }],
    ["device key", { deviceKey: generateKeyPair().publicKey }],
  ])("enrolls no request of another %s than the one that auth opened", async (_, change) => {
    world.seal(id);
    world.decide(id, change);
    const signIn = world.store.rows.get(id)!;
    await expect(world.enroll(signIn, world.requests.all.get(id)!.enrollment)).rejects.toThrow("not the one");
    await expect(world.approved(accountId, id)).rejects.toThrow("not the one");
    expect(world.registrations).toEqual([]);
  });

  it("enrolls no key that the chain does not have", async () => {
    const { enrollment } = world.requests.all.get(id)!;
    await expect(world.enroll(world.store.rows.get(id)!, enrollment)).rejects.toEqual(refused("TwoFactorAuthPending"));
    expect(world.store.additions).toEqual([]);
  });

  it("opens nothing for a request that auth never opened", async () => {
    world.seal(id);
    const ephemeral = await token();
    world.store.rows.delete(id);
    await expect(world.finish(ephemeral, id)).rejects.toEqual(refused("TwoFactorAuthNotFound"));
  });

  it("opens no session when the request cannot be marked as finished", async () => {
    world.seal(id);
    world.requests.beforeFinish = async () => {
      throw new AppError("Unavailable");
    };
    await expect(finish()).rejects.toEqual(refused("Unavailable"));
    expect(world.store.sessions).toEqual([]);
  });

  describe("by the event of its approval", () => {
    it("waits for the seal, enrolls once, and leaves the session to the call that finishes", async () => {
      await world.approved(accountId, id);
      world.decide(id, { status: "approved" });
      await world.approved(accountId, id);
      expect(world.registrations).toEqual([]);
      world.seal(id);
      await world.approved(accountId, id);
      await world.approved(accountId, id);
      expect(world.registrations.map(({ step }) => step)).toEqual(["key", "device"]);
      expect(world.store.sessions).toEqual([]);
      world.store.verdict = "frozen";
      await world.approved(accountId, id);
      world.store.verdict = "yes";
      await finish();
      expect(world.registrations).toHaveLength(2);
      expect(world.store.additions).toEqual([{ id, transaction: SEALED.transaction }]);
    });

    it("does nothing for requests that auth never opened, and for other accounts", async () => {
      world.seal(id);
      await world.approved(accountId, uuidv7(world.clock));
      await world.approved(uuidv7(world.clock), id);
      world.store.rows.delete(id);
      await world.approved(accountId, id);
      expect(world.registrations).toEqual([]);
    });
  });
});
