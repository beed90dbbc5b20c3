import { sendTransaction } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { describe, expect, it } from "vitest";
import {
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
});
