import {
  describeKeyAddition,
  matchingCodeOf,
  readKeyAddition,
  sameMatchingCode,
  sendKeyAddition,
} from "@countersign/client";
import { describe, expect, it } from "vitest";
import { chainName, logIn, network, newPhone, problemOf } from "./person.ts";
import {
  access,
  ask,
  attributes,
  codeOf,
  expectIn,
  finish,
  idOf,
  letIn,
  owner,
  stranger,
} from "./two-factor-newcomers.ts";

describe("a new device", () => {
  it("is let in by the signature of an old one", async () => {
    const newcomer = await ask(owner);
    const { asked } = newcomer;
    const shown = (await owner.client.pendingTwoFactor()).find(({ id }) => id === idOf(newcomer))!;
    expect(shown).toEqual(asked.twoFactorAuth);
    expect(shown).toMatchObject({
      accountId: owner.signedUp.account.id,
      status: "pending",
      extra: null,
      result: { txId: "" },
      request: {
        app: { appName: expect.any(String) },
        userOpInfo: { type: "sign-in", signIn: { email: owner.email, ip: "127.0.0.1", location: "" } },
        srcDevice: { publicKey: newcomer.deviceKey.publicKey, ...attributes },
        destDevice: { publicKey: owner.deviceKey.publicKey },
      },
    });
    expect(readKeyAddition(shown.request.message)).toMatchObject({
      address: `0x${owner.address}`,
      publicKey: newcomer.deviceKey.publicKey,
      weight: 1,
    });
    expect(sameMatchingCode(await matchingCodeOf(shown), (await codeOf(newcomer)).toLowerCase())).toBe(true);
    expect(await describeKeyAddition(shown)).toContain(`0x${owner.address}`);

    expect(await problemOf(finish(newcomer))).toMatchObject({ status: 409, error: "TwoFactorAuthPending" });
    expect(await problemOf(finish(newcomer))).toMatchObject({ status: 429, error: "RateLimited" });
    const signedIn = await letIn(newcomer, owner);
    const { status, result } = await owner.client.twoFactor(shown.request.id);
    expect({ status, txId: result.txId }).toEqual({ status: "finished", txId: signedIn.transaction.id });
    await expectIn(newcomer, owner, result.txId);
  });

  it("is let in by a transaction that an old one sends itself", async () => {
    const newcomer = await ask(owner);
    const shown = await owner.client.twoFactor(idOf(newcomer));
    expect(await matchingCodeOf(shown)).toBe(await codeOf(newcomer));
    const userKey = readKeyAddition(shown.request.message);
    const { id } = await sendKeyAddition(owner.client, { network, userKey });
    await owner.client.approveTwoFactor(shown.id, { txId: id });
    const signedIn = await newcomer.client.waitForTwoFactor(newcomer.asked);
    expect(signedIn.transaction.id).toBe(id);
    await expectIn(newcomer, owner, id);
  });

  it("is not let in by a transaction that is older than its request", async () => {
    const phone = newPhone();
    const { id } = await sendKeyAddition(stranger.client, { network, userKey: phone.deviceKey });
    const newcomer = await ask(stranger, phone);
    expect(await problemOf(stranger.client.approveTwoFactor(idOf(newcomer), { txId: id }))).toMatchObject({
      status: 422,
      error: "TransactionMismatch",
    });
    await stranger.client.rejectTwoFactor(idOf(newcomer));
    await stranger.client.reopenTwoFactor();
  });

  it("with a key of secp256k1 too", async () => {
    const newcomer = await ask(owner, newPhone("ES256K"));
    const { transaction } = await letIn(newcomer, owner);
    await expectIn(newcomer, owner, transaction.id);
  });

  it("opens one session, however often it finishes at once", async () => {
    const newcomer = await ask(owner);
    await owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: await codeOf(newcomer) });
    await expect.poll(async () => (await access.accountKeys(owner.address)).length, { timeout: 20_000 }).toBe(6);
    const before = (await owner.client.sessions()).length;
    let finished = 0;
    const errors = new Set<string>();
    for (let round = 0; round < 20 && !errors.has("TwoFactorAuthFinished"); round++) {
      const answers = await Promise.allSettled(Array.from({ length: 4 }, () => finish(newcomer)));
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
