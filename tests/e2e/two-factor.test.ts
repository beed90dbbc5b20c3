import {
  describeKeyAddition,
  matchingCodeOf,
  readKeyAddition,
  sameMatchingCode,
  sendKeyAddition,
  sendTransaction,
  type TwoFactorAsked,
} from "@countersign/client";
import { createAccessApi } from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { beforeAll, describe, expect, it } from "vitest";
import { call, chain, chainName, logIn, newPhone, type Person, type Phone, problemOf, signUpPerson } from "./person.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });
const network = { chainName, accessNode: chain.accessNode, paymaster: chain.paymaster };
const NOTHING = "transaction { prepare(a: &Account) {} }";
const attributes = { name: "New phone", osName: "iOS", type: "mobile" } as const;

/** A phone that waits to be let in. */
interface Newcomer extends Phone {
  asked: TwoFactorAsked;
}

let owner: Person;
let stranger: Person;
beforeAll(async () => {
  [owner, stranger] = await Promise.all([signUpPerson(), signUpPerson()]);
});

async function ask(of: Person, phone: Phone = newPhone()): Promise<Newcomer> {
  const login = await logIn(of.email);
  return { ...phone, asked: await phone.client.requestTwoFactor({ login, chainName, device: attributes }) };
}

const idOf = ({ asked }: Newcomer): string => asked.twoFactorAuth.id;
const finish = ({ client, asked }: Newcomer) =>
  client.finishTwoFactor(asked.twoFactorAuth.id, asked.ephemeralAccessToken);
const letIn = async (newcomer: Newcomer, by: Person) => {
  await by.client.approveTwoFactor(idOf(newcomer), { matchingCode: newcomer.client.matchingCode });
  return newcomer.client.waitForTwoFactor(newcomer.asked);
};
const raw = (token: string | undefined, method: string, path: string, body?: unknown) =>
  call(method, path, { token, ...(body !== undefined && { body }) });

/** That a device is let in for good: session, registration, chain, challenge, and a transaction of its own. */
async function expectIn({ client, deviceKey }: Newcomer, of: Person, transactionId: string): Promise<void> {
  const { publicKey } = deviceKey;
  const account = await client.me();
  expect(account.id).toBe(of.signedUp.account.id);
  expect(account.addresses.map(({ address }) => address)).toContain(`0x${of.address}`);
  expect(await client.devices()).toContainEqual(expect.objectContaining({ publicKey, ...attributes }));

  const key = (await client.keys()).find((entry) => entry.publicKey === publicKey);
  expect(key).toMatchObject({ type: "user-key", chainName, userKey: { device: { publicKey } } });
  const onChain = await access.accountKey(of.address, key!.keyIndex);
  expect(onChain).toMatchObject({ publicKey, weight: 1, hashAlgorithm: "SHA2_256", revoked: false });

  await client.signOut();
  const again = await client.signIn({ login: await logIn(of.email), chainName });
  expect(again).toMatchObject({ account: { id: account.id }, transaction: { id: transactionId } });
  const sent = await sendTransaction(client, { network, cadence: NOTHING });
  expect(sent.result.errorMessage).toBe("");
}

describe("a new device", () => {
  it("is let in by the signature of an old one", async () => {
    const newcomer = await ask(owner);
    const { client, asked } = newcomer;
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
    expect(sameMatchingCode(matchingCodeOf(shown), client.matchingCode.toLowerCase())).toBe(true);
    expect(describeKeyAddition(shown)).toContain(`0x${owner.address}`);

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
    expect(matchingCodeOf(shown)).toBe(newcomer.client.matchingCode);
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
    await owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: newcomer.client.matchingCode });
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

describe("a request", () => {
  it("that is rejected stays rejected", async () => {
    const newcomer = await ask(owner);
    await owner.client.rejectTwoFactor(idOf(newcomer));
    const work = owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: newcomer.client.matchingCode });
    expect(await problemOf(work)).toMatchObject({ status: 409, error: "TwoFactorAuthNotPending" });
    expect(await problemOf(owner.client.rejectTwoFactor(idOf(newcomer)))).toMatchObject({
      error: "TwoFactorAuthNotPending",
    });
    expect(await problemOf(finish(newcomer))).toMatchObject({ status: 403, error: "TwoFactorAuthRejected" });
    expect((await owner.client.twoFactor(idOf(newcomer))).status).toBe("rejected");
    expect(await owner.client.pendingTwoFactor()).toEqual([]);
    await owner.client.reopenTwoFactor();
  });

  it("closes after three rejections, until a device reopens", async () => {
    for (let rejection = 0; rejection < 3; rejection++) {
      await stranger.client.rejectTwoFactor(idOf(await ask(stranger)));
    }
    expect(await problemOf(ask(stranger))).toMatchObject({ status: 403, error: "TwoFactorAuthClosed" });
    await stranger.client.reopenTwoFactor();
    await stranger.client.rejectTwoFactor(idOf(await ask(stranger)));
  });

  it("that is redirected has a new message, and the earlier one is of no use", async () => {
    const newcomer = await ask(owner);
    const before = newcomer.asked.twoFactorAuth;
    const other = (await owner.client.devices()).find(({ publicKey }) => publicKey !== owner.deviceKey.publicKey)!;
    const redirected = await owner.client.redirectTwoFactor(before.id, other.id);
    expect(redirected.id).toBe(before.id);
    expect(redirected.request.id).not.toBe(before.request.id);
    expect(redirected.request.destDevice?.id).toBe(other.id);
    expect(redirected.expiresAt).toBe(before.expiresAt);
    expect((await owner.client.twoFactor(before.request.id)).request.id).toBe(redirected.request.id);

    const signature = bytesToHex(await owner.deviceKey.sign(hexToBytes(before.request.message)));
    const late = await raw(
      owner.client.credentials!.accessToken,
      "POST",
      `/device/v1/2fa/${before.request.id}/approve`,
      { signature },
    );
    expect(late).toMatchObject({ status: 409, body: { error: "MessageRenewed" } });

    const theirs = (await stranger.client.devices())[0]!.id;
    for (const id of [theirs, before.id]) {
      expect(await problemOf(owner.client.redirectTwoFactor(before.id, id))).toMatchObject({
        status: 404,
        error: "DeviceNotFound",
      });
    }
    await owner.client.rejectTwoFactor(before.id);
    await owner.client.reopenTwoFactor();
  });

  it("is nothing to another account", async () => {
    const newcomer = await ask(owner);
    const { id, request } = newcomer.asked.twoFactorAuth;
    expect(await stranger.client.pendingTwoFactor()).toEqual([]);
    const own = (await stranger.client.devices())[0]!.id;
    const token = stranger.client.credentials!.accessToken;
    const signature = bytesToHex(await stranger.deviceKey.sign(hexToBytes(request.message)));
    for (const name of [id, request.id]) {
      const path = `/device/v1/2fa/${name}`;
      for (const answer of [
        await raw(token, "GET", path),
        await raw(token, "PUT", path, { destDeviceId: own }),
        await raw(token, "DELETE", path),
        await raw(token, "POST", `${path}/approve`, { signature }),
        await raw(token, "POST", `${path}/approve`, { txId: "ab".repeat(32) }),
      ]) {
        expect(answer).toMatchObject({ status: 404, body: { error: "TwoFactorAuthNotFound" } });
      }
    }
    expect((await owner.client.twoFactor(id)).status).toBe("pending");
    await owner.client.rejectTwoFactor(id);
    await owner.client.reopenTwoFactor();
  });

  it("is approved by nothing but the right signature or transaction", async () => {
    const newcomer = await ask(owner);
    const token = owner.client.credentials!.accessToken;
    const path = `/device/v1/2fa/${idOf(newcomer)}/approve`;
    const message = hexToBytes(newcomer.asked.twoFactorAuth.request.message);
    const theirs = bytesToHex(await newcomer.deviceKey.sign(message));
    expect(await raw(token, "POST", path, { signature: theirs })).toMatchObject({
      status: 401,
      body: { error: "InvalidSignature" },
    });
    const other = await sendTransaction(owner.client, { network, cadence: NOTHING });
    const key = newPhone().deviceKey;
    const foreign = await sendKeyAddition(owner.client, { network, userKey: key });
    for (const { id } of [other, foreign, owner.signedUp.transaction]) {
      expect(await raw(token, "POST", path, { txId: id })).toMatchObject({
        status: 422,
        body: { error: "TransactionMismatch" },
      });
    }
    const wrongCode = owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: owner.client.matchingCode });
    await expect(wrongCode).rejects.toMatchObject({ name: "MatchingCodeError" });
    expect((await owner.client.twoFactor(idOf(newcomer))).status).toBe("pending");
    await owner.client.rejectTwoFactor(idOf(newcomer));
    await owner.client.reopenTwoFactor();
  });
});

describe("the ephemeral token", () => {
  it("opens finishing its own request and signing its own message, and nothing else", async () => {
    const newcomer = await ask(owner);
    const other = await ask(owner);
    const { ephemeralAccessToken: token, twoFactorAuth } = newcomer.asked;
    const { body: document } = await call("GET", "/openapi.json");
    const operations = Object.entries(document.paths as Record<string, Record<string, { security: object[] }>>).flatMap(
      ([path, methods]) => Object.entries(methods).map(([method, { security }]) => ({ path, method, security })),
    );
    const mayOpen = (path: string) => path.startsWith("/sign/") || path === "/auth/v1/signin/2fa/finish";
    const closed = operations.filter(({ path, security }) => security.length > 0 && !mayOpen(path));
    expect(closed.length).toBeGreaterThan(15);
    for (const { method, path } of closed) {
      const filled = path.replace("{id}", twoFactorAuth.id).replace("{publicKey}", owner.deviceKey.publicKey);
      const answer = await raw(token, method.toUpperCase(), filled, method === "get" ? undefined : {});
      expect(answer, `${method} ${path}`).toMatchObject({ status: 403, body: { error: "InsufficientScope" } });
    }

    const sign = (message: string) => raw(token, "POST", "/sign/v1/cadence/transaction", { message });
    for (const message of [other.asked.twoFactorAuth.request.message]) {
      expect(await sign(message)).toMatchObject({
        status: 403,
        body: { error: "SigningRefused", reason: "OutsideEphemeralScope" },
      });
    }
    expect((await sign(twoFactorAuth.request.message)).status).toBe(200);
    const elsewhere = newcomer.client.finishTwoFactor(idOf(other), token);
    expect(await problemOf(elsewhere)).toMatchObject({ status: 403, error: "InsufficientScope" });
    const full = newcomer.client.finishTwoFactor(twoFactorAuth.id, owner.client.credentials!.accessToken);
    expect(await problemOf(full)).toMatchObject({ status: 403, error: "InsufficientScope" });
    for (const each of [newcomer, other]) await owner.client.rejectTwoFactor(idOf(each));
    await owner.client.reopenTwoFactor();
  });
});

describe("a frozen account", () => {
  it("signs nothing and lets nobody in, until another device lifts it", async () => {
    const newcomer = await ask(owner);
    await letIn(newcomer, owner);
    await owner.client.freeze();
    const frozen = expect.objectContaining({ status: 403, error: "AccountFrozen" });
    await expect
      .poll(() => problemOf(sendTransaction(newcomer.client, { network, cadence: NOTHING })), { timeout: 5_000 })
      .toEqual(frozen);
    expect(await problemOf(ask(owner))).toEqual(frozen);
    expect(await problemOf(owner.client.unfreeze())).toMatchObject({ status: 403, error: "UnfreezeNotAllowed" });
    await newcomer.client.unfreeze();
    await expect
      .poll(
        () =>
          sendTransaction(newcomer.client, { network, cadence: NOTHING }).then(
            () => "sealed",
            () => "refused",
          ),
        { timeout: 10_000 },
      )
      .toBe("sealed");
  });
});
