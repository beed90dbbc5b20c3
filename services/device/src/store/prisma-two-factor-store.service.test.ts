import { generateKeyPair } from "@countersign/keys/node";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import type { AccountRequests } from "../domain/two-factor/ports.ts";
import type { TwoFactor } from "../domain/two-factor/two-factor.ts";
import { ATTEMPT_TIMEOUT_MS, type Guard, guardHolds } from "../domain/two-factor/two-factor-state.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { playTwoFactor } from "../testing/two-factor-model.ts";
import { LIFE_MS, type Registered, refused, type TwoFactorWorld, twoFactorWorld } from "../testing/two-factor-world.ts";
import { postgresDeviceStore } from "./postgres-device-store.ts";
import { prismaTwoFactorStore } from "./prisma-two-factor-store.ts";

const TX = "ab".repeat(32);

describe("requests for approval in Postgres", () => {
  let world: TwoFactorWorld;
  let accountId: string;
  let old: Registered;
  let asked: TwoFactor;

  beforeEach(async () => {
    world = twoFactorWorld({ requests: prismaTwoFactorStore(prisma), devices: postgresDeviceStore(prisma, postgres) });
    accountId = v7();
    old = await world.device(accountId);
    asked = (await world.open(world.enrollmentRequest(accountId))).request;
  });

  const row = async () => (await world.requests.find(accountId, asked.id))!;
  const emitted = async (id = asked.id) => {
    const subject = `cs.v1.device.${accountId}.two-factor-changed`;
    const rows = await prisma.outbox.findMany({ where: { subject }, orderBy: { id: "asc" } });
    const events = rows.map(({ payload }) => Event.decode(payload).twoFactorChanged);
    return events.filter((event) => event?.id === id).map((event) => event?.status);
  };
  const of = (id = asked.id) => ({ session: old.session, twoFactorId: id, requestId: "test" });
  const enrollment = () => ({ accountId, id: asked.id, requestId: "test" });

  it("keeps everything that was asked", async () => {
    expect(await row()).toEqual(asked);
    const [shown] = await world.list({ session: old.session, status: "pending", requestId: "test" });
    expect(shown?.destDevice?.id).toBe(old.device.id);
    expect(await emitted()).toEqual(["pending"]);
  });

  it("opens once when the same call comes twice at once, and never for two accounts", async () => {
    const command = world.enrollmentRequest(accountId);
    const [first, second] = await Promise.all([world.open(command), world.open(command)]);
    expect(second.request.messageId).toBe(first.request.messageId);
    expect(await emitted(command.id)).toEqual(["pending"]);
    const stolen = world.open(world.enrollmentRequest(v7(), { id: command.id }));
    await expect(stolen).rejects.toMatchObject(refused("InvalidRequest"));
  });

  it("keeps the limit of five among twelve at once", async () => {
    const commands = Array.from({ length: 12 }, () => world.open(world.enrollmentRequest(accountId)));
    const results = await Promise.allSettled(commands);
    const limited = results.filter((result) => result.status === "rejected");
    expect(limited).toHaveLength(8);
    for (const { reason } of limited) {
      expect(reason).toMatchObject({ reason: "RateLimited", retryAfterSeconds: LIFE_MS / 1000 });
    }
  });

  it("counts those that are pending and not over, or whose approval is under way", async () => {
    const pendingUntil = (now: Date) => world.requests.withAccount(accountId, (requests) => requests.pendingUntil(now));
    const { expiresAt } = asked;
    expect(await pendingUntil(world.clock.now())).toEqual([expiresAt]);
    expect(await pendingUntil(expiresAt)).toEqual([]);
    const rejected = (await world.open(world.enrollmentRequest(accountId))).request;
    await world.reject(of(rejected.id));
    expect(await pendingUntil(world.clock.now())).toEqual([expiresAt]);
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    expect(await pendingUntil(expiresAt)).toEqual([expiresAt]);
  });

  it("lists, and counts rejections by devices after a time, of the account alone; remembers the last reopening", async () => {
    const inAccount = <T>(work: (requests: AccountRequests) => Promise<T>) =>
      world.requests.withAccount(accountId, work);
    const now = world.clock.now();
    const before = new Date(now.getTime() - 1);
    const open = async (account: string) => (await world.open(world.enrollmentRequest(account))).request;
    const other = await open(v7());
    await world.reject({ ...of(other.id), session: { ...old.session, accountId: other.accountId } });
    await world.reject({ ...of((await open(accountId)).id), inRecovery: true });
    expect(await inAccount((requests) => requests.countRejectedAfter(before))).toBe(0);
    await world.reject(of());
    expect(await inAccount((requests) => requests.countRejectedAfter(before))).toBe(1);
    expect(await inAccount((requests) => requests.countRejectedAfter(now))).toBe(0);

    const pending = await open(accountId);
    const listed = async (status?: "pending" | "rejected", limit = 9) =>
      (await world.requests.list(accountId, { status, limit })).map(({ id }) => id);
    expect(await listed("pending")).toEqual([pending.id]);
    expect([await listed(), await listed(undefined, 2), await listed("rejected")].map(({ length }) => length)).toEqual([
      3, 2, 2,
    ]);

    await world.requests.withAccount(other.accountId, (requests) => requests.reopen(before));
    expect(await inAccount((requests) => requests.reopenedAt())).toBeNull();
    for (const time of [before, now]) await inAccount((requests) => requests.reopen(time));
    expect(await inAccount((requests) => requests.reopenedAt())).toEqual(now);
  });

  it("counts wrong approvals of a request up to the limit, and of no other one", async () => {
    const other = (await world.open(world.enrollmentRequest(accountId))).request;
    const counted = await Promise.all([1, 2, 3].map(() => world.requests.countWrongApproval(asked.id, 2)));
    expect(counted.toSorted()).toEqual([false, true, true]);
    expect(await row()).toMatchObject({ wrongApprovals: 2 });
    expect(await world.requests.find(accountId, other.id)).toMatchObject({ wrongApprovals: 0 });
  });

  it("finds the pending ones that are over, without those whose approval is under way, the oldest first", async () => {
    const due = async (time: Date, limit = 9) => {
      const found = await world.requests.due(time, limit);
      return found.filter((each) => each.accountId === accountId).map(({ id }) => id);
    };
    world.clock.advance(1);
    const [later, rejected, unconfirmed] = await Promise.all(
      [1, 2, 3].map(async () => (await world.open(world.enrollmentRequest(accountId))).request),
    );
    await world.reject(of(rejected!.id));
    world.chain.submission = "lost";
    await expect(world.sign(old, unconfirmed!.id, unconfirmed!.message)).rejects.toMatchObject(refused("Unavailable"));
    await prisma.twoFactor.deleteMany({ where: { accountId: { not: accountId } } });
    expect(await due(new Date(asked.expiresAt.getTime() - 1))).toEqual([]);
    expect(await due(asked.expiresAt)).toEqual([asked.id]);
    expect(await due(later!.expiresAt)).toEqual([asked.id, later!.id]);
    expect(await due(later!.expiresAt, 1)).toEqual([asked.id]);
    await prisma.twoFactor.update({ where: { id: unconfirmed!.id }, data: { status: "failed" } });
    await world.requests.forget(rejected!.expiresAt);
    expect(await world.requests.find(accountId, rejected!.id)).toBeDefined();
    await world.requests.forget(new Date(asked.expiresAt.getTime() + 1_000));
    expect(await world.requests.find(accountId, asked.id)).toBeDefined();
    expect(await world.requests.find(accountId, unconfirmed!.id)).toBeDefined();
    expect(await world.requests.find(accountId, rejected!.id)).toBeUndefined();
  });

  it("takes a step where its guard holds in memory, and nowhere else", async () => {
    const [attemptId, now] = [v7(), world.clock.now()];
    const rows = [
      { status: "pending" },
      { status: "pending", attemptId },
      { status: "approved", attemptId },
      { status: "approved", sealedAt: now },
      { status: "approved", attemptId, sealedAt: now },
    ];
    const conditions: Omit<Guard, "status">[] = [
      {},
      ...[attemptId, v7(), null].map((each) => ({ attemptId: each })),
      ...[asked.messageId, v7()].map((messageId) => ({ messageId })),
      ...[true, false].map((sealed) => ({ sealed })),
      ...[-1, 0].flatMap((ms) => {
        const time = new Date(asked.expiresAt.getTime() + ms);
        return [{ liveAt: time }, { dueBy: time }];
      }),
    ];
    for (const data of rows) {
      await prisma.twoFactor.update({ where: { id: asked.id }, data: { attemptId: null, sealedAt: null, ...data } });
      const before = await row();
      for (const condition of conditions)
        for (const status of ["pending", "approved"] as const) {
          const when = { status, ...condition };
          const context = { occurredAt: now, requestId: "" };
          const taken = await world.requests.take(asked.id, { when, set: { wrongApprovals: 0 } }, context);
          expect([when, taken]).toEqual([when, guardHolds(before, when) ? before : undefined]);
        }
    }
  });

  it("opens none with one key of another one that is open or enrolled, also at once", async () => {
    const { publicKey } = generateKeyPair();
    const userKey = {
      ...asked.userKey,
      accountKey: generateKeyPair().publicKey,
      deviceKey: generateKeyPair().publicKey,
    };
    asked = (await world.open(world.enrollmentRequest(accountId, { userKey }))).request;
    const claiming = [
      { ...userKey, accountKey: publicKey },
      { ...userKey, deviceKey: publicKey },
      { ...userKey, accountKey: publicKey, deviceKey: userKey.accountKey },
      { ...userKey, accountKey: userKey.deviceKey, deviceKey: publicKey },
    ];
    const claim = (userKey: TwoFactor["userKey"]) =>
      world.open(world.enrollmentRequest(accountId, { userKey, chainName: "flow-testnet" }));
    const refuseAll = async () => {
      for (const userKey of claiming)
        await expect(claim(userKey)).rejects.toMatchObject(refused("KeyAlreadyRegistered"));
    };
    await refuseAll();
    // The same device on two networks, and keys that another account has asked for.
    const second = (await claim(userKey)).request;
    await world.reject(of(second.id));
    await expect(world.open(world.enrollmentRequest(v7(), { userKey: claiming[0]! }))).resolves.toBeDefined();
    await world.sign(old, asked.id, asked.message);
    await refuseAll();
    world.chain.decide("sealed");
    await world.describe(enrollment());
    await world.finish(enrollment());
    await refuseAll();

    const rejected = (await world.open(world.enrollmentRequest(accountId))).request;
    await world.reject(of(rejected.id));
    await expect(claim({ ...rejected.userKey, accountKey: publicKey })).resolves.toBeDefined();
    const fresh = { ...userKey, accountKey: generateKeyPair().publicKey, deviceKey: generateKeyPair().publicKey };
    const racing = await Promise.allSettled([fresh, { ...fresh, accountKey: fresh.deviceKey }].map(claim));
    expect(racing.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("names a request by each of its ids, and forgets them with it", async () => {
    const names = [asked.id, asked.messageId];
    for (let turn = 0; turn < 3; turn++) {
      world.clock.advance(1000);
      world.chain.renew();
      names.push((await world.get(of())).request.messageId);
    }
    expect(new Set(names).size).toBe(5);
    for (const name of names) expect((await world.get(of(name))).request.id).toBe(asked.id);
    await world.open(world.enrollmentRequest(accountId));
    const earlier = await world.requests.earlierMessages(await row(), 2);
    expect(earlier.map(({ messageId }) => messageId)).toEqual([names[3], names[2]]);
    expect(Buffer.from(await world.requests.firstMessage(asked.id))).toEqual(Buffer.from(asked.message));

    await world.reject(of());
    await world.requests.forget(new Date(world.clock.now().getTime() + 2 * LIFE_MS));
    await expect(world.get(of(names[1]))).rejects.toMatchObject(refused("TwoFactorAuthNotFound"));
    expect(await prisma.twoFactorMessage.count({ where: { twoFactorId: asked.id } })).toBe(0);
  });

  it("renews once when many read at once", async () => {
    world.chain.renew();
    const reads = await Promise.all(Array.from({ length: 8 }, () => world.get(of())));
    expect(new Set(reads.map(({ request }) => request.messageId)).size).toBe(1);
    expect(await emitted()).toEqual(["pending", "pending"]);
  });

  it("gives an unconfirmed attempt to one of several replicas", async () => {
    world.chain.submission = "lost";
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(refused("Unavailable"));
    const now = world.clock.now();
    const until = new Date(now.getTime() + 4000);
    const leases = await Promise.all(
      Array.from({ length: 4 }, () => world.requests.leaseUnconfirmed(now, until, 1000)),
    );
    const ours = leases.flat().filter(({ id }) => id === asked.id);
    expect(ours).toMatchObject([{ reconcileAt: until }]);
  });

  it("leases no other unconfirmed attempt of the account with one", async () => {
    world.chain.submission = "lost";
    const other = (await world.open(world.enrollmentRequest(accountId))).request;
    for (const { id, message } of [asked, other])
      await expect(world.sign(old, id, message)).rejects.toMatchObject(refused("Unavailable"));
    // Of other tests' attempts some may be due as well.
    await prisma.twoFactor.updateMany({ where: { accountId: { not: accountId } }, data: { reconcileAt: null } });
    const now = world.clock.now();
    const lease = () => world.requests.leaseUnconfirmed(now, new Date(now.getTime() + 4000), 1);
    const leased = [...(await lease()), ...(await lease()), ...(await lease())];
    expect(leased.map(({ id }) => id).sort()).toEqual([asked.id, other.id].sort());
  });

  it("is approved, sealed and finished once, among many at once", async () => {
    await world.sign(old, asked.id, asked.message);
    await expect(world.finish(enrollment())).rejects.toMatchObject(refused("TwoFactorAuthPending"));
    world.chain.decide("sealed");
    expect((await world.describe(enrollment())).request).toMatchObject({ status: "approved", keyIndex: 2 });
    const finishes = await Promise.allSettled(Array.from({ length: 6 }, () => world.finish(enrollment())));
    expect(finishes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const finish of finishes) {
      if (finish.status === "rejected") expect(finish.reason).toMatchObject(refused("TwoFactorAuthFinished"));
    }
    expect(await emitted()).toEqual(["pending", "approved", "sealed", "finished"]);
  });

  it("keeps to the table of states under random sequences of all commands", async () => {
    const stores = () => ({ requests: prismaTwoFactorStore(prisma), devices: postgresDeviceStore(prisma, postgres) });
    await playTwoFactor(stores, { numRuns: 15, maxCommands: 40 });
  }, 120_000);

  describe("races", () => {
    const racers = {
      sign: () => world.sign(old, asked.id, asked.message),
      report: () => world.report(old, asked.id, TX),
      reject: () => world.reject(of()),
      expire: async () => {
        world.clock.set(new Date(asked.expiresAt));
        await world.sweep();
      },
      redirect: () => world.redirect({ ...of(), destDeviceId: old.device.id }),
      finish: () => world.finish(enrollment()),
    };
    type Racer = keyof typeof racers;
    const names = Object.keys(racers) as Racer[];
    const pairs = names.flatMap((first, index) => names.slice(index).map((second) => [first, second] as const));
    const decides = new Set<Racer>(["sign", "report", "reject"]);

    it.each(pairs)("%s and %s: one outcome, one event", async (...pair) => {
      for (let round = 0; round < 3; round++) {
        if (round > 0) asked = (await world.open(world.enrollmentRequest(accountId))).request;
        const before = asked.expiresAt;
        const results = await Promise.allSettled(pair.map((name) => racers[name]()));
        const final = await row();
        const events = (await emitted()).filter((status) => status !== "pending");

        // The same decision of the same device succeeds twice.
        const decided = pair.filter((name, index) => decides.has(name) && results[index]?.status === "fulfilled");
        // A signature that comes after the device's own transaction has decided repeats its approval.
        const repeats = decided.includes("report") && decided.includes("sign") && final.result?.id === TX;
        const won = [...new Set(repeats ? decided.filter((name) => name !== "sign") : decided)];
        expect(won.length).toBeLessThanOrEqual(1);
        if (won[0] === "reject") expect(final.status).toBe("rejected");
        const finished = results[pair.indexOf("finish")]?.status === "fulfilled";
        // The reported addition is sealed already, so the new device may finish in the same moment.
        if (finished) expect(won).toEqual(["report"]);
        if (won[0] === "sign" || won[0] === "report") expect(final.status).toBe(finished ? "finished" : "approved");
        if (won.length === 0 && pair.includes("expire")) expect(final.status).toBe("expired");
        const outcome = finished ? ["approved", "finished"] : [final.status];
        expect(events).toEqual(final.status === "pending" ? [] : outcome);
        for (const result of results) {
          if (result.status === "fulfilled") continue;
          expect(result.reason.reason).toMatch(/^(TwoFactorAuth(NotPending|Pending|Rejected|Expired)|MessageRenewed)$/);
        }
        if (final.status === "pending") await world.reject(of());
        world.clock.set(new Date(before.getTime() + ATTEMPT_TIMEOUT_MS));
      }
    });
  });
});
