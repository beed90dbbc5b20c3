import { beforeEach, describe, expect, it } from "vitest";
import { type PendingRequest, pendingRequest } from "../../testing/pending-request.ts";
import { type Registered, refused } from "../../testing/two-factor-world.ts";
import { REJECTION_COUNTS_MS } from "./open-two-factor.ts";

describe("rejectTwoFactor", () => {
  const notPending = refused("TwoFactorAuthNotPending");
  let { world, store, old, asked, statuses } = {} as PendingRequest;
  const reject = ({ session }: Registered, id = asked.id, inRecovery = false) =>
    world.reject({ session, twoFactorId: id, requestId: "test", inRecovery });

  beforeEach(async () => {
    ({ world, store, old, asked, statuses } = await pendingRequest());
  });

  it("succeeds again for the device that rejected, by any id of the request, and emits one event", async () => {
    await reject(old);
    const rejected = store.rows.get(asked.id)!;
    world.clock.advance(60_000);
    await reject(old);
    await reject(old, asked.messageId);
    expect(store.rows.get(asked.id)).toEqual(rejected);
    expect(statuses()).toEqual(["pending", "rejected"]);
  });

  it("of the same device at once succeeds each time", async () => {
    await Promise.all([1, 2, 3].map(() => reject(old)));
    expect(statuses()).toEqual(["pending", "rejected"]);
  });

  it("of another device comes too late", async () => {
    const other = await world.device(old.device.accountId);
    await reject(old);
    const late = await reject(other).catch((error) => error);
    expect(late).toMatchObject(notPending);
    // Only an approval under way is worth asking again.
    expect(late.retryAfterSeconds).toBeUndefined();
    const both = await Promise.allSettled([reject(old), reject(other)]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  });

  it("of what was approved or has expired comes too late, for the same device as well", async () => {
    await world.sign(old, asked.id, asked.message);
    await expect(reject(old)).rejects.toMatchObject(notPending);
    const next = (await world.open(world.enrollmentRequest(old.device.accountId))).request;
    world.clock.set(next.expiresAt);
    await expect(reject(old, next.id)).rejects.toMatchObject(notPending);
  });

  it("does not succeed where an approval commits first", async () => {
    const { take } = store;
    store.take = async (...step) => {
      store.take = take;
      await world.sign(old, asked.id, asked.message);
      return take(...step);
    };
    await expect(reject(old)).rejects.toMatchObject(notPending);
    expect(store.rows.get(asked.id)).toMatchObject({ status: "approved", rejectedByKey: null });
  });

  it("of a recovery session succeeds again for the same key", async () => {
    await reject(old, asked.id, true);
    await reject(old, asked.id, true);
    expect(store.rows.get(asked.id)).toMatchObject({ rejectedInRecovery: true });
  });

  it("of what opened while the recovery key had a session: three in a day, though a device reopens meanwhile", async () => {
    const { accountId } = old.device;
    const open = async (recovering: boolean) =>
      (await world.open(world.enrollmentRequest(accountId, { recovering }))).request;
    await reject(old);
    for (let index = 0; index < 2; index++) await reject(old, (await open(true)).id);
    const [contested, other] = [await open(true), await open(true)];
    await world.reopen({ session: old.session });
    await expect(reject(old, contested.id)).rejects.toMatchObject(refused("TimeLockContested"));
    expect(store.rows.get(contested.id)).toMatchObject({ status: "pending" });
    await reject(old, other.id, true);
    // Others are rejected as before.
    await reject(old, (await open(false)).id);
    world.clock.advance(REJECTION_COUNTS_MS);
    await reject(old, (await open(true)).id);
  });

  it("leaves approving too late for the device that rejected", async () => {
    await reject(old);
    await expect(world.sign(old, asked.id, asked.message)).rejects.toMatchObject(notPending);
  });
});
