import { type KeyChange, payloadMessage, type TemplateName } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { asked, clock, server, transaction, tx, vault } from "../testing/policy-fixture.ts";
import { ageIs, changing, fresh, HOUR, refusalOf } from "../testing/template-fixture.ts";
import { staleLogin, type TimeLockFacts, type TimeLockPolicy, timeLockOf } from "./time-lock.ts";

const newDevice = generateKeyPair();

describe("a login that is not fresh", () => {
  const now = new Date("2026-11-20T10:00:00Z");
  const advice =
    "Log in again with max_age=300 and sign in with the ID token or the code, not with an access token: " +
    "the time of the login is the ID token's auth_time";

  it.each<[string, Date | undefined, string]>([
    [
      "without a time",
      undefined,
      "The login behind this session does not say when the person logged in: it was an access token, or an ID token without auth_time",
    ],
    [
      "that is too old",
      new Date(now.getTime() - 301_000),
      "The login behind this session is of 2026-11-20T09:54:59.000Z, more than 300 seconds ago",
    ],
  ])("%s: the text holds for ID tokens and access tokens", (_, authTime, problem) => {
    const policy = { loginMaxAgeMs: 300_000 } as TimeLockPolicy;
    expect(staleLogin(authTime, now, policy)).toMatchObject({
      reason: "LoginTooOld",
      detail: `${problem}. ${advice}`,
    });
  });
});

describe.each(["add-recovery-key", "replace-recovery-key", "revoke-recovery-key"] as const)("%s", (template) => {
  const old = generateKeyPair().publicKey.publicKey;
  const next = generateKeyPair().publicKey;
  const message = async (newKey = next) => {
    const serverKey = (await vault.publicKey(server)).publicKey;
    return payloadMessage(changing({ template, serverKey, oldKey: old, newKey } as KeyChange));
  };
  const MINUTE = 60_000;
  const loggedIn = (ms: number) => ({ authTime: new Date(clock.now().getTime() - ms) });

  it.each<[string, number, number, string]>([
    ["a new account, a login of now", 0, 0, "signed"],
    ["a day less a millisecond, five minutes", 24 * HOUR - 1, 5 * MINUTE, "signed"],
    ["a day less a millisecond, an older login", 24 * HOUR - 1, 5 * MINUTE + 1, "LoginTooOld"],
    ["a day, a login of now", 24 * HOUR, 0, "TimeLockRequired"],
    ["a day, five minutes", 24 * HOUR, 5 * MINUTE, "TimeLockRequired"],
    ["a year, an older login", 8760 * HOUR, 5 * MINUTE + 1, "LoginTooOld"],
    ["an hour, a login as far ahead as clocks may differ", HOUR, -30_000, "signed"],
    ["an hour, a login further in the future", HOUR, -30_001, "LoginTooOld"],
    ["an hour, a login in a year", HOUR, -8760 * HOUR, "LoginTooOld"],
  ])("of an account of %s", async (_, age, login, outcome) => {
    ageIs(age);
    expect(await refusalOf(transaction(asked(await message(), loggedIn(login))))).toBe(outcome);
  });

  it("needs a session that says when its person logged in, at any age of the account", async () => {
    for (const age of [0, 8760 * HOUR]) {
      ageIs(age);
      const refused = transaction(asked(await message()));
      expect(await refusalOf(refused)).toBe("LoginTooOld");
      await expect(refused).rejects.toMatchObject({ detail: expect.stringContaining("max_age=300") });
    }
  });

  it("waits its 72 hours, needs a login of now again, and then the same request is signed, for a day", async () => {
    ageIs(25 * HOUR);
    expect(await refusalOf(transaction(asked(await message(), fresh())))).toBe("TimeLockRequired");
    clock.advance(72 * HOUR - 1);
    expect(await refusalOf(transaction(asked(await message(), fresh())))).toBe("TimeLockRequired");
    clock.advance(1);
    expect(await refusalOf(transaction(asked(await message(), loggedIn(5 * MINUTE + 1))))).toBe("LoginTooOld");
    if (template !== "revoke-recovery-key") {
      const other = await message(generateKeyPair().publicKey);
      expect(await refusalOf(transaction(asked(other, fresh())))).toBe("TimeLockRequired");
      // Another request took its place: the first one begins again.
      expect(await refusalOf(transaction(asked(await message(), fresh())))).toBe("TimeLockRequired");
      clock.advance(72 * HOUR);
    }
    expect(await refusalOf(transaction(asked(await message(), fresh())))).toBe("signed");
    clock.advance(24 * HOUR - 1);
    expect(await refusalOf(transaction(asked(await message(), fresh())))).toBe("signed");
    clock.advance(1);
    expect(await refusalOf(transaction(asked(await message(), fresh())))).toBe("TimeLockRequired");
  });
});

describe("the time lock of a change of user keys", () => {
  const MINUTE = 60_000;
  const policy: TimeLockPolicy = {
    recoveryKeyMs: 72 * HOUR,
    youngAccountMs: 24 * HOUR,
    recoveredDeviceMs: 24 * HOUR,
    youngDeviceMs: 24 * HOUR,
    loginMaxAgeMs: 5 * MINUTE,
    contestMs: 24 * HOUR,
    goodForMs: 24 * HOUR,
  };
  const now = new Date("2026-11-20T10:00:00Z");
  const old = { boundAt: new Date(now.getTime() - 8760 * HOUR) };
  const lockOf = (name: TemplateName, facts: Partial<TimeLockFacts> = {}) =>
    timeLockOf({
      template: { name },
      token: { scope: "full" },
      account: old,
      now,
      timeLockPolicy: policy,
      recoveryKeySigned: false,
      accountKeyAgeMs: undefined,
      ...facts,
    });

  it("is for a device that a recovery key enrolls, by its session or by its signature", () => {
    const waits = { lockMs: 24 * HOUR, needsFreshLogin: false };
    expect(lockOf("add-user-key")).toBeUndefined();
    expect(lockOf("add-user-key", { token: { scope: "recover" } })).toEqual(waits);
    expect(lockOf("add-user-key", { recoveryKeySigned: true })).toEqual(waits);
  });

  it("is what a young device's key lacks to 24 hours, before it revokes another key", () => {
    expect(lockOf("revoke-user-key")).toBeUndefined();
    expect(lockOf("revoke-user-key", { accountKeyAgeMs: 0 })).toEqual({ lockMs: 24 * HOUR, needsFreshLogin: false });
    expect(lockOf("revoke-user-key", { accountKeyAgeMs: 24 * HOUR - 1 })).toEqual({
      lockMs: 1,
      needsFreshLogin: false,
    });
    expect(lockOf("revoke-user-key", { accountKeyAgeMs: 24 * HOUR })).toBeUndefined();
  });

  it("is for no other template, and the age of an account that is not known counts as old", () => {
    const recovered = { token: { scope: "recover" }, recoveryKeySigned: true, accountKeyAgeMs: 0 } as const;
    expect(lockOf("rotate-server-key", recovered)).toBeUndefined();
    expect(lockOf("add-recovery-key", { account: {} })?.lockMs).toBe(72 * HOUR);
  });
});

describe("changes without a time lock", () => {
  it.each(["add-user-key", "revoke-user-key"] as const)("%s of a full session, on an old account", async (template) => {
    ageIs(8760 * HOUR);
    const change = { template, newKey: newDevice.publicKey, oldKey: newDevice.publicKey.publicKey } as KeyChange;
    expect(await refusalOf(transaction(asked(payloadMessage(changing(change)))))).toBe("signed");
  });

  it("any other transaction", async () => {
    ageIs(8760 * HOUR);
    expect(await refusalOf(transaction(asked(payloadMessage(tx()))))).toBe("signed");
  });
});
