import { setTimeout as sleep } from "node:timers/promises";
import { type ProblemError, recoverDevice, sendTransaction } from "@countersign/client";
import { generateDeviceKey, type NodeDeviceKey } from "@countersign/client/node";
import { cadenceAddress, cadenceUFix64, envelopeMessage, type FlowTransaction, KEY_ROLES } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { ensureServiceKey } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { describe, expect, it } from "vitest";
import { stateDir } from "../security/secrets.ts";
import {
  access,
  chain,
  chainName,
  logIn,
  NOTHING,
  network,
  newEmail,
  newPhone,
  type Person,
  type Phone,
  phoneOf,
  pollOptions,
  problemOf,
  signUpPerson,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { change, plain } from "./key-changes.ts";

/** Returns what `work` gives once its time lock has ended; where `mustWait`, there must have been one. */
async function afterTimeLock<T>(work: () => Promise<T>, { mustWait }: { mustWait: boolean }): Promise<T> {
  try {
    const done = await work();
    expect(mustWait, "there was no time lock").toBe(false);
    return done;
  } catch (error) {
    const { error: code, availableAt, timeLockId } = error as ProblemError;
    if (code !== "TimeLockRequired") throw error;
    expect(timeLockId).toMatch(/^[0-9a-f-]{36}$/);
    await sleep(Math.max(0, new Date(availableAt).getTime() - Date.now()) + 300);
    return work();
  }
}

/** Signs a person in again, with a fresh login. */
const freshly = async ({ client }: Phone, email: string) => client.signIn({ login: await logIn(email), chainName });

/** Creates a person whose recovery key is on chain and reported. */
async function withRecoveryKey(): Promise<{ person: Person; backup: NodeDeviceKey }> {
  const person = await signUpPerson();
  const backup = generateDeviceKey();
  await afterTimeLock(() => change(person, { template: "add-recovery-key", newKey: plain(backup) }), {
    mustWait: false,
  });
  await person.client.registerRecoveryKey(plain(backup), "ada@cloud.example");
  return { person, backup };
}

/** Waits until the account is old enough for time locks. */
const grownUp = ({ signedUp }: Person) =>
  sleep(Math.max(0, new Date(signedUp.account.createdAt).getTime() + 20_000 - Date.now()));

const recoveryKeysOf = async ({ client }: Phone) =>
  (await client.keys({ includeRevoked: true })).filter(({ type }) => type === "recover-key");

// Each test mostly waits for a time lock; run concurrently, they wait at the same time.
describe.concurrent("a recovery key", () => {
  it("is reported before the chain shows it, and listed with what the chain says then", async ({ expect }) => {
    const person = await signUpPerson();
    const backup = generateDeviceKey();
    const listed = await person.client.registerRecoveryKey(plain(backup), "ada@cloud.example");
    expect(listed).toMatchObject([
      { type: "user-key", keyIndex: 1 },
      {
        type: "recover-key",
        publicKey: backup.publicKey,
        pending: true,
        keyIndex: -1,
        userKey: null,
        recoverKey: { type: "cloud", cloudKey: { accountName: "ada@cloud.example" } },
      },
    ]);
    const login = await logIn(person.email);
    const early = problemOf(phoneOf(backup).client.signIn({ login, chainName }));
    expect(await early).toMatchObject({ status: 400, error: "PleaseRegisterKey" });
    await afterTimeLock(() => change(person, { template: "add-recovery-key", newKey: plain(backup) }), {
      mustWait: false,
    });
    await expect
      .poll(() => recoveryKeysOf(person), pollOptions)
      .toMatchObject([{ pending: false, keyIndex: 2, weight: 999, revokedAt: "" }]);
    const second = generateDeviceKey();
    await expect(
      afterTimeLock(() => change(person, { template: "add-recovery-key", newKey: plain(second) }), { mustWait: false }),
    ).rejects.toThrow("another heavy key is active");
  });

  it("is put on chain only after a login with auth_time: sign-up, sign-in and refresh without it are refused", async ({
    expect,
  }) => {
    const phone = newPhone();
    const email = newEmail();
    const add = () => change(phone, { template: "add-recovery-key", newKey: plain(generateDeviceKey()) });
    const refused = { status: 403, error: "LoginTooOld" };
    await phone.client.signUp({ login: await logIn(email, { maxAge: null }), chainName });
    expect(await problemOf(add())).toMatchObject(refused);
    await phone.client.signIn({ login: await logIn(email, { maxAge: null }), chainName });
    expect(await problemOf(add())).toMatchObject(refused);
    await phone.client.refresh();
    expect(await problemOf(add())).toMatchObject(refused);
    await freshly(phone, email);
    await phone.client.refresh();
    await afterTimeLock(add, { mustWait: false });
  });

  it("restores a person who lost every device: after a time lock, and the lost ones are removed", async ({
    expect,
  }) => {
    const { person: lost, backup } = await withRecoveryKey();
    const recovery = phoneOf(backup);
    await freshly(recovery, lost.email);
    expect((await recovery.client.me()).id).toBe(lost.signedUp.account.id);
    expect(await recovery.client.keys()).toHaveLength(2);
    const token = recovery.client.credentials!.accessToken;
    const refused = { status: 403, body: { error: "InsufficientScope" } };
    expect(await call("POST", "/device/v1/2fa/reopen", { token })).toMatchObject(refused);
    const deviceKey = lost.deviceKey.publicKey;
    expect(await call("DELETE", `/device/v1/devices/${deviceKey}`, { token })).toMatchObject(refused);
    const spend = problemOf(sendTransaction(recovery.client, { network, cadence: NOTHING }));
    expect(await spend).toMatchObject({ error: "SigningRefused", reason: "OutsideEphemeralScope" });

    const events: string[] = [];
    const abort = new AbortController();
    void (async () => {
      for await (const { type } of lost.client.events({ signal: abort.signal })) events.push(type);
    })().catch(() => undefined);
    const fresh = newPhone();
    const comeBack = async () =>
      recoverDevice({
        recovery: recovery.client,
        device: fresh.client,
        login: await logIn(lost.email),
        chainName,
        signal: AbortSignal.timeout(30_000),
      });
    const signedIn = await afterTimeLock(comeBack, { mustWait: true });
    expect(signedIn.account.id).toBe(lost.signedUp.account.id);
    await expect.poll(() => events, pollOptions).toContain("time-lock.started");
    abort.abort();
    const { result } = await sendTransaction(fresh.client, { network, cadence: NOTHING });
    expect(result).toMatchObject({ status: "Sealed", errorMessage: "" });

    await change(fresh, { template: "revoke-user-key", oldKey: deviceKey });
    await expect.poll(() => lost.client.me().catch(({ error }) => error), pollOptions).toBe("SessionEnded");
    const login = await logIn(lost.email);
    expect(await problemOf(lost.client.signIn({ login, chainName }))).toMatchObject({ error: "PleaseRegisterKey" });
    await expect.poll(async () => (await fresh.client.devices()).length, pollOptions).toBe(1);
  });

  it("enrolls no device after an old device has cancelled the time lock", async ({ expect }) => {
    const { person, backup } = await withRecoveryKey();
    const recovery = phoneOf(backup);
    await freshly(recovery, person.email);
    const thief = newPhone();
    const breakIn = async () =>
      recoverDevice({ recovery: recovery.client, device: thief.client, login: await logIn(person.email), chainName });
    expect(await problemOf(breakIn())).toMatchObject({ status: 403, error: "TimeLockRequired" });
    const [timeLock] = await person.client.timeLocks();
    expect(timeLock).toMatchObject({ operation: "add-user-key", chainName, cancelledAt: "" });
    expect(await recovery.client.timeLocks()).toEqual([timeLock]);
    expect(await problemOf(recovery.client.cancelTimeLock(timeLock!.id))).toMatchObject({ error: "InsufficientScope" });
    const otherPerson = await signUpPerson();
    expect(await problemOf(otherPerson.client.cancelTimeLock(timeLock!.id))).toMatchObject({
      error: "TimeLockNotFound",
    });
    await person.client.cancelTimeLock(timeLock!.id);
    await person.client.cancelTimeLock(timeLock!.id);
    expect(await person.client.timeLocks()).toMatchObject([{ cancelledAt: expect.stringMatching(/Z$/) }]);
    expect(await problemOf(breakIn())).toMatchObject({ status: 403, error: "TimeLockCancelled" });
    expect(await person.client.keys()).toHaveLength(2);
  });

  it("is kept out by no device that rejects each request: it rejects three in a day, also where it reopens", async ({
    expect,
  }) => {
    const { person, backup } = await withRecoveryKey();
    const recovery = phoneOf(backup);
    await freshly(recovery, person.email);
    const ask = async () => {
      const { twoFactorAuth } = await newPhone().client.requestTwoFactor({
        login: await logIn(person.email),
        chainName,
      });
      return twoFactorAuth.id;
    };
    for (let rejection = 0; rejection < 3; rejection++) await person.client.rejectTwoFactor(await ask());
    await person.client.reopenTwoFactor();
    const id = await ask();
    const contested = { status: 403, error: "TimeLockContested" };
    expect(await problemOf(person.client.rejectTwoFactor(id))).toMatchObject(contested);
    expect(await person.client.twoFactor(id)).toMatchObject({ status: "pending" });
    await recovery.client.rejectTwoFactor(id);
  });

  it("is replaced after a time lock, with a fresh login; the old one is revoked", async ({ expect }) => {
    const { person, backup } = await withRecoveryKey();
    const old = phoneOf(backup);
    await freshly(old, person.email);
    await grownUp(person);
    await freshly(person, person.email);
    const next = generateDeviceKey();
    await person.client.registerRecoveryKey(plain(next), "ada@other.example");
    await afterTimeLock(() => change(person, { template: "replace-recovery-key", newKey: plain(next) }), {
      mustWait: true,
    });
    await expect
      .poll(() => recoveryKeysOf(person), pollOptions)
      .toMatchObject([
        { publicKey: backup.publicKey, revokedAt: expect.stringMatching(/Z$/) },
        { publicKey: next.publicKey, revokedAt: "", pending: false, keyIndex: 3 },
      ]);
    await expect.poll(() => old.client.me().catch(({ error }) => error), pollOptions).toBe("SessionEnded");
    const login = await logIn(person.email);
    expect(await problemOf(old.client.signIn({ login, chainName }))).toMatchObject({ error: "PleaseRegisterKey" });
    const now = phoneOf(next);
    expect((await freshly(now, person.email)).account.id).toBe(person.signedUp.account.id);
  });

  it("lifts a freeze after its time lock, and not before", async ({ expect }) => {
    const { person, backup } = await withRecoveryKey();
    const recovery = phoneOf(backup);
    await freshly(recovery, person.email);
    await person.client.freeze();
    await afterTimeLock(
      async () => {
        try {
          await recovery.client.unfreeze();
        } catch (error) {
          throw Object.assign(error as object, { timeLockId: person.signedUp.account.id });
        }
      },
      { mustWait: true },
    );
    await expect
      .poll(() => sendTransaction(person.client, { network, cadence: NOTHING }).then(() => "", String), pollOptions)
      .toBe("");
  });
});

const FUND = `import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79

transaction(to: Address, amount: UFix64) {
    prepare(giver: auth(BorrowValue) &Account) {
        let vault = giver.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
        getAccount(to).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)!
            .deposit(from: <-vault.withdraw(amount: amount))
    }
}
`;
const LEAVE = "transaction { prepare(a: auth(RevokeKey) &Account) { a.keys.revoke(keyIndex: 0) } }";

describe("the user's exit", () => {
  it("recovery key and device key move the account without any server key; the service lets go", async () => {
    const { person, backup } = await withRecoveryKey();
    const { address, client } = person;
    const funder = new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir));
    await funder.run(FUND, [cadenceAddress(address), cadenceUFix64("1.00000000")]);

    const [block, keys] = await Promise.all([access.latestSealedBlock(), access.accountKeys(address)]);
    const [server, device, recovery] = keys;
    expect([server, device, recovery].map((key) => key?.weight)).toEqual([
      KEY_ROLES.server.weight,
      KEY_ROLES.user.weight,
      KEY_ROLES.recovery.weight,
    ]);
    const unsigned: FlowTransaction = {
      script: LEAVE,
      arguments: [],
      referenceBlockId: block.id,
      gasLimit: 999n,
      proposalKey: { address, keyId: 1, sequenceNumber: device!.sequenceNumber },
      payer: address,
      authorizers: [address],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    const message = envelopeMessage(unsigned);
    const sign = async (keyId: number, key: NodeDeviceKey) => ({
      address,
      keyId,
      signature: bytesToHex(await key.sign(message)),
    });
    const envelopeSignatures = [await sign(1, person.deviceKey), await sign(2, backup)];
    const id = await access.submit({ ...unsigned, envelopeSignatures });
    const result = await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) });
    expect(result.errorMessage).toBe("");

    await expect.poll(() => client.me().catch(({ error }) => error), pollOptions).toBe("SessionEnded");
    const login = await logIn(person.email);
    expect(await problemOf(client.signIn({ login, chainName }))).toMatchObject({ status: 403, error: "AccountLeft" });
    const asking = newPhone().client.requestTwoFactor({ login: await logIn(person.email), chainName });
    expect(await problemOf(asking)).toMatchObject({ status: 403, error: "AccountLeft" });
  });
});
