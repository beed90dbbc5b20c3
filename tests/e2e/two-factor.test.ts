import { describeKeyAddition, isMatchingCodeOf, readKeyAddition, sendKeyAddition } from "@countersign/client";
import { describe, expect, it } from "vitest";
import { access, chainName, logIn, network, newPhone, problemOf } from "../support/person.ts";
import {
  ask,
  attributes,
  codeOf,
  enroll,
  expectEnrolled,
  finish,
  idOf,
  otherPerson,
  owner,
} from "./two-factor-new-devices.ts";

describe("a new device", () => {
  it("is enrolled by the signature of an old one", async () => {
    const newDevice = await ask(owner);
    const { asked } = newDevice;
    const shown = (await owner.client.pendingTwoFactor()).find(({ id }) => id === idOf(newDevice))!;
    const { request } = asked.twoFactorAuth;
    // The use of the old device by its sign-up may be noted meanwhile.
    const destDevice = { ...request.destDevice, lastUsedAt: expect.any(String) };
    expect(shown).toEqual({ ...asked.twoFactorAuth, request: { ...request, destDevice } });
    expect(shown).toMatchObject({
      accountId: owner.signedUp.account.id,
      status: "pending",
      extra: null,
      result: { txId: "" },
      request: {
        app: { appName: expect.any(String) },
        userOpInfo: { type: "sign-in", signIn: { email: owner.email, ip: "127.0.0.1", location: "" } },
        srcDevice: { publicKey: newDevice.deviceKey.publicKey, ...attributes },
        destDevice: { publicKey: owner.deviceKey.publicKey },
      },
    });
    expect(readKeyAddition(shown.request.message)).toMatchObject({
      address: `0x${owner.address}`,
      publicKey: newDevice.deviceKey.publicKey,
      weight: 1,
    });
    expect(isMatchingCodeOf(shown, codeOf(newDevice).toLowerCase())).toBe(true);
    expect(describeKeyAddition(shown)).toContain(`0x${owner.address}`);

    expect(await problemOf(finish(newDevice))).toMatchObject({ status: 409, error: "TwoFactorAuthPending" });
    expect(await problemOf(finish(newDevice))).toMatchObject({ status: 429, error: "RateLimited" });
    const signedIn = await enroll(newDevice, owner);
    const { status, result } = await owner.client.twoFactor(shown.request.id);
    expect({ status, txId: result.txId }).toEqual({ status: "finished", txId: signedIn.transaction.id });
    await expectEnrolled(newDevice, owner, result.txId);
  });

  it("is enrolled by a transaction that an old one sends itself", async () => {
    const newDevice = await ask(owner);
    const shown = await owner.client.twoFactor(idOf(newDevice));
    expect(isMatchingCodeOf(shown, codeOf(newDevice))).toBe(true);
    const userKey = readKeyAddition(shown.request.message);
    const { id } = await sendKeyAddition(owner.client, { network, userKey });
    await owner.client.approveTwoFactor(shown.id, { txId: id });
    const signedIn = await newDevice.client.waitForTwoFactor(newDevice.asked);
    expect(signedIn.transaction.id).toBe(id);
    await expectEnrolled(newDevice, owner, id);
  });

  it("is not enrolled by a transaction that is older than its request", async () => {
    const phone = newPhone();
    const { id } = await sendKeyAddition(otherPerson.client, { network, userKey: phone.deviceKey });
    const newDevice = await ask(otherPerson, phone);
    expect(await problemOf(otherPerson.client.approveTwoFactor(idOf(newDevice), { txId: id }))).toMatchObject({
      status: 422,
      error: "TransactionMismatch",
    });
    await otherPerson.client.rejectTwoFactor(idOf(newDevice));
    await otherPerson.client.reopenTwoFactor();
  });

  it("with a key of secp256k1 too", async () => {
    const newDevice = await ask(owner, newPhone("ES256K"));
    const { transaction } = await enroll(newDevice, owner);
    await expectEnrolled(newDevice, owner, transaction.id);
  });

  it("opens one session, however often it finishes at once", async () => {
    const newDevice = await ask(owner);
    await owner.client.approveTwoFactor(idOf(newDevice), { matchingCode: codeOf(newDevice) });
    await expect.poll(async () => (await access.accountKeys(owner.address)).length, { timeout: 20_000 }).toBe(6);
    const before = (await owner.client.sessions()).length;
    let finished = 0;
    const errors = new Set<string>();
    for (let round = 0; round < 20 && !errors.has("TwoFactorAuthFinished"); round++) {
      const answers = await Promise.allSettled(Array.from({ length: 4 }, () => finish(newDevice)));
      finished += answers.filter((answer) => answer.status === "fulfilled").length;
      for (const answer of answers) if (answer.status === "rejected") errors.add(answer.reason.error);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect(finished).toBe(1);
    expect([...errors].filter((error) => error !== "TwoFactorAuthPending").sort()).toEqual([
      "RateLimited",
      "TwoFactorAuthFinished",
    ]);
    expect(await owner.client.sessions()).toHaveLength(before + 1);
  });

  it("asks once with the same idempotency key, and never for a key that is there already", async () => {
    const phone = newPhone();
    const options = { login: await logIn(owner.email), chainName, device: attributes, idempotencyKey: "once" };
    const [first, second] = [
      await phone.client.requestTwoFactor(options),
      await phone.client.requestTwoFactor(options),
    ];
    expect(second.twoFactorAuth.id).toBe(first.twoFactorAuth.id);
    await owner.client.rejectTwoFactor(first.twoFactorAuth.id);
    await owner.client.reopenTwoFactor();

    const known = owner.client.requestTwoFactor({ login: await logIn(owner.email), chainName });
    expect(await problemOf(known)).toMatchObject({ status: 409, error: "KeyAlreadyRegistered" });
    const nobody = newPhone().client.requestTwoFactor({ login: await logIn("nobody@example.com"), chainName });
    expect(await problemOf(nobody)).toMatchObject({ status: 404, error: "AccountNotFound" });
  });
});
