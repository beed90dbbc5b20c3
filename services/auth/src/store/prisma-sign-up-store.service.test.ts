import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import type { LoginProfile } from "../domain/login.ts";
import type { ClaimSignUp } from "../domain/sign-up/sign-up-saga.ts";
import { SIGN_UP_STEPS } from "../domain/sign-up/sign-up-steps.ts";
import { app, clock, device, eventsOf, now, person, prisma, times } from "../testing/store-fixture.ts";
import { prismaSignUpStore } from "./prisma-sign-up-store.ts";

const claimOf = (profile: LoginProfile, change: Partial<ClaimSignUp> = {}): ClaimSignUp => {
  const accountKey = change.accountKey ?? generateKeyPair().publicKey;
  return {
    profile,
    chainName: "flow-emulator",
    app,
    userKeyType: "device",
    accountKey,
    deviceKey: accountKey,
    device,
    deviceId: uuidv7(clock),
    profileImageUrl: "",
    newAccountId: uuidv7(clock),
    session: undefined,
    idempotency: undefined,
    leaseUntil: new Date(now.getTime() + 30_000),
    now,
    ...change,
  };
};
describe("sign-up claims", () => {
  const store = () => prismaSignUpStore(prisma);

  it("ten at once of one identity and key are one account", async () => {
    const command = claimOf(person());
    const claims = await Promise.all(times(10, () => store().claim({ ...command, newAccountId: uuidv7(clock) })));
    const sagas = claims.map((claim) => claim.kind === "drive" && claim.saga);
    expect(new Set(sagas.map((saga) => (saga ? saga.accountId : undefined))).size).toBe(1);
    expect(sagas.every((saga) => saga && saga.deviceId === command.deviceId)).toBe(true);
  });

  it("of two keys at once one wins", async () => {
    const profile = person();
    const claims = await Promise.all(times(6, () => store().claim(claimOf(profile))));
    expect(claims.filter(({ kind }) => kind === "drive")).toHaveLength(1);
    expect(claims.filter(({ kind }) => kind === "account-exists")).toHaveLength(5);
  });

  it("an unfinished one is resumed with both of its keys, and with no other beside its user key", async () => {
    const profile = person();
    const command = claimOf(profile, { deviceKey: generateKeyPair().publicKey });
    const first = await store().claim(command);
    expect((await store().claim({ ...command, deviceKey: generateKeyPair().publicKey })).kind).toBe("account-exists");
    expect((await store().claim({ ...command, deviceKey: command.accountKey })).kind).toBe("account-exists");
    expect(await store().claim(command)).toEqual(first);
  });

  it("an Idempotency-Key replays a finished sign-up, and only for the same body", async () => {
    const command = claimOf(person(), { idempotency: { id: uuidv4(), fingerprint: "f1" } });
    const first = await store().claim(command);
    if (first.kind !== "drive") throw new Error(first.kind);
    for (const step of SIGN_UP_STEPS)
      await Promise.all([store().mark(first.saga, step, now), store().mark(first.saga, step, now)]);
    expect(await eventsOf(first.saga.accountId, "sign-up-completed")).toBe(1);
    expect((await store().claim(command)).kind).toBe("replay");
    const otherBody = { ...command, idempotency: { ...command.idempotency!, fingerprint: "f2" } };
    expect((await store().claim(otherBody)).kind).toBe("idempotency-key-reused");
    expect((await store().claim({ ...command, idempotency: undefined })).kind).toBe("account-exists");
    expect((await store().claim({ ...command, idempotency: { id: uuidv4(), fingerprint: "f1" } })).kind).toBe(
      "account-exists",
    );
  });

  it("a further chain only from the account's own session, with that session's key", async () => {
    const profile = person();
    const command = claimOf(profile);
    const first = await store().claim(command);
    if (first.kind !== "drive") throw new Error(first.kind);
    const { accountId } = first.saga;
    const further = { chainName: "flow-other", accountKey: command.accountKey };
    const session = { accountId, accountKey: command.accountKey, deviceKey: command.accountKey };
    expect((await store().claim(claimOf(profile, further))).kind).toBe("account-exists");
    const strange = { ...session, accountId: uuidv7(clock) };
    expect((await store().claim(claimOf(profile, { ...further, session: strange }))).kind).toBe("account-exists");
    expect((await store().claim(claimOf(profile, { chainName: "flow-other", session }))).kind).toBe("account-exists");
    const strangeDevice = { ...further, deviceKey: generateKeyPair().publicKey, session };
    expect((await store().claim(claimOf(profile, strangeDevice))).kind).toBe("account-exists");
    expect(await store().claim(claimOf(profile, { ...further, session }))).toMatchObject({
      kind: "drive",
      saga: { accountId },
    });
  });

  it("two runners never lease the same saga, and a given-up one is left alone", async () => {
    await prisma.signUp.updateMany({ data: { leaseUntil: new Date(now.getTime() + 1_000_000) } });
    const claims = await Promise.all(
      times(8, () => store().claim(claimOf(person(), { leaseUntil: new Date(now.getTime() - 1) }))),
    );
    const [first] = claims;
    if (first?.kind === "drive") await store().giveUp(first.saga);
    const until = new Date(now.getTime() + 30_000);
    const leased = (await Promise.all(times(4, () => store().leaseAbandoned(now, until, 3)))).flat();
    expect(leased).toHaveLength(7);
    expect(new Set(leased.map(({ accountId }) => accountId)).size).toBe(7);
  });

  it("a late giving up by a first request leaves the lease of a second request alone", async () => {
    const command = claimOf(person(), { leaseUntil: new Date(now.getTime() - 2) });
    const first = await store().claim(command);
    const second = await store().claim({ ...command, leaseUntil: new Date(now.getTime() - 1) });
    if (first.kind !== "drive" || second.kind !== "drive") throw new Error("not driven");
    const runnerFinds = async () =>
      (await store().leaseAbandoned(now, new Date(now.getTime() - 1), 50)).some(
        ({ accountId }) => accountId === first.saga.accountId,
      );
    await store().giveUp(first.saga);
    expect(await runnerFinds()).toBe(true);
    await store().giveUp(second.saga);
    expect(await runnerFinds()).toBe(false);
  });
});
