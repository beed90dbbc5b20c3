import { sendTransaction } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { type CadenceValue, cadenceInt, cadenceString } from "@countersign/flow";
import { ensureServiceKey } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { Faucet } from "@countersign/local-stack/web-wallet/faucet.ts";
import { describe, expect, it } from "vitest";
import { stateDir } from "../security/secrets.ts";
import {
  chain,
  chainName,
  logIn,
  NOTHING,
  network,
  newPhone,
  type Person,
  type Phone,
  phoneOf,
  pollOptions,
  problemOf,
  secondPhone,
  signUpPerson,
} from "../support/person.ts";
import { change, plain } from "./key-changes.ts";

const removeOwn = ({ client, deviceKey }: Phone) => client.removeDevice(deviceKey.publicKey);
/** Saves a text that leaves so many bytes of the account's storage. */
const FILL = `transaction(text: String, left: Int) {
  prepare(account: auth(SaveValue) &Account) {
    let free = Int(account.storage.capacity) - Int(account.storage.used) - left
    let part = free < text.length ? text.slice(from: 0, upTo: free) : text
    account.storage.save(part, to: /storage/PATH)
  }
}`;
const lastDevice = { status: 409, error: "LastDevice" };

/** Expects that the phone signs in with its key and has a transaction sealed. */
async function expectAtHome({ client }: Phone, { email }: Person): Promise<void> {
  await client.signIn({ login: await logIn(email), chainName });
  await expect
    .poll(() => sendTransaction(client, { network, cadence: NOTHING }).then(() => "sealed", String), pollOptions)
    .toBe("sealed");
}

describe("an account is not lost", () => {
  it("by removing its only device: refused until a recovery key is on chain, which then signs in", async () => {
    const person = await signUpPerson();
    expect(await problemOf(removeOwn(person))).toMatchObject(lastDevice);
    const backup = generateDeviceKey();
    await person.client.registerRecoveryKey(plain(backup), "ada@cloud.example");
    expect(await problemOf(removeOwn(person))).toMatchObject(lastDevice);
    await expectAtHome(person, person);
    await change(person, { template: "add-recovery-key", newKey: plain(backup) });
    await removeOwn(person);
    const recovery = { ...person, ...phoneOf(backup) };
    await recovery.client.signIn({ login: await logIn(person.email), chainName });
    expect((await recovery.client.me()).id).toBe(person.signedUp.account.id);
  });

  it("by two devices that remove themselves at once: one stays, and signs", async () => {
    const person = await signUpPerson();
    const second = await secondPhone(person);
    const removals = await Promise.allSettled([person, second].map(removeOwn));
    const refused = removals.flatMap((each) => (each.status === "rejected" ? [each.reason.error] : []));
    expect(refused).toEqual(["LastDevice"]);
    await expectAtHome(removals[0]!.status === "rejected" ? person : second, person);
  });

  it("by removing devices one by one where the other one's key was revoked on chain", async () => {
    const person = await signUpPerson();
    const second = await secondPhone(person);
    await change(person, { template: "revoke-user-key", oldKey: second.deviceKey.publicKey });
    expect(await problemOf(removeOwn(person))).toMatchObject(lastDevice);
    await expectAtHome(person, person);
  });

  it("by freezing it with its only device: the same device lifts that after a time lock", async () => {
    const person = await signUpPerson();
    await person.client.freeze();
    expect(await problemOf(person.client.unfreeze())).toMatchObject({ error: "TimeLockRequired" });
    const lift = () =>
      person.client.unfreeze().then(
        () => "lifted",
        ({ error }) => error,
      );
    await expect.poll(lift, pollOptions).toBe("lifted");
    await expectAtHome(person, person);
  });

  it("by three rejections: a device reopens it", async () => {
    const person = await signUpPerson();
    for (const { client } of [newPhone(), newPhone(), newPhone()]) {
      const { twoFactorAuth } = await client.requestTwoFactor({ login: await logIn(person.email), chainName });
      await person.client.rejectTwoFactor(twoFactorAuth.id);
    }
    expect(await problemOf(secondPhone(person))).toMatchObject({ error: "TwoFactorAuthClosed" });
    await person.client.reopenTwoFactor();
    await expectAtHome(await secondPhone(person), person);
  });

  it("by a stolen phone that fills its storage: keys are revoked, and added once anybody sends it FLOW", async () => {
    const person = await signUpPerson();
    const stolen = await secondPhone(person);
    const fill = (left: number, i: number) => {
      const args: CadenceValue[] = [cadenceString("x".repeat(20_000)), cadenceInt(left)];
      return sendTransaction(stolen.client, { network, cadence: FILL.replace("PATH", `f${i}`), args, gasLimit: 9999n });
    };
    for (const [i, left] of [1000, 1000, 1000, 1000, 1000, 300, 100].entries()) await fill(left, i);
    expect(await problemOf(secondPhone(person))).toMatchObject({ status: 409, error: "TwoFactorAuthFailed" });
    await change(person, { template: "revoke-user-key", oldKey: stolen.deviceKey.publicKey });
    await new Faucet(new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir))).give(person.address);
    await expectAtHome(await secondPhone(person), person);
  });
});
