import { randomUUID } from "node:crypto";
import type { Reason } from "@countersign/core";
import { z } from "zod";
import { query } from "../../../security/token-forge.ts";
import { logIn, newEmail, newPhone, type Person, secondPhone, signUpPerson } from "../../person.ts";
import { nobodysToken } from "../common-codes.ts";
import { type Answer, exchange } from "../exchange.ts";
import { approve, ask, asking, exhausted, once, signed, tokenOf, undeployed, userKeyOf } from "../people.ts";
import { signedIn, twoFactorAuth } from "../resources.ts";
import { type Provoked, type Rows, seenIn, unprovoked } from "../rows.ts";

const NOT_ON_THE_CURVE = "ab".repeat(64);
const BROKEN_PROVIDER = seenIn("services/auth/src/clients/verify-login.test.ts");
const OPENING = seenIn("services/device/src/domain/two-factor/open-two-factor.test.ts");
const FINISHING = seenIn("services/auth/src/domain/two-factor/finish-two-factor.test.ts");
const APPROVING = seenIn("services/device/src/domain/two-factor/approve-two-factor.test.ts");
const ATTACKS = seenIn("tests/e2e/two-factor-attacks.test.ts");
const MESSAGES = seenIn("tests/e2e/two-factor-messages.test.ts");
const RECOVERY = seenIn("tests/e2e/recovery.test.ts");

const owner = once(signUpPerson);
/** Somebody who has frozen the account, with a request that was there before. */
const frozen = once(async () => {
  const person = await signUpPerson();
  const asker = await ask(person);
  await approve(person, asker);
  const waiting = await ask(person);
  await exchange("freezeAccount", { token: tokenOf(person) });
  return { person, asker, waiting };
});
/** Requests of somebody whose earlier one is out of the way. */
async function fresh(): Promise<{ person: Person; asker: Awaited<ReturnType<typeof ask>> }> {
  const person = await owner();
  return { person, asker: await ask(person) };
}
/** A request that was decided, on an account that may ask again. */
async function rejected() {
  const { person, asker } = await fresh();
  await exchange("rejectTwoFactor", { token: tokenOf(person), name: asker.id });
  await exchange("reopenTwoFactor", { token: tokenOf(person) });
  return { person, asker };
}

const request = async (change: object = {}, login: object = {}, headers: Record<string, string> = {}) => {
  const body = await asking((await owner()).email, newPhone());
  return exchange("requestTwoFactor", {
    body: { ...body, request: { ...body.request, ...login }, ...change },
    headers,
  });
};
const withKey = (change: object) => request({ userKey: { ...userKeyOf(newPhone()), ...change } });

/** The same request again, under its key, after `between`. */
async function repeated(between: (id: string) => Promise<unknown>, change: object = {}): Promise<Answer> {
  const body = await asking((await owner()).email, newPhone());
  const headers = { "idempotency-key": randomUUID() };
  const first = await exchange("requestTwoFactor", { body, headers });
  await between(first.body.twoFactorAuth.id);
  return exchange("requestTwoFactor", { body: { ...body, ...change }, headers });
}

const finish = (token: string, id: string) =>
  exchange("finishTwoFactor", { token, body: { twoFactorAuthRequestId: id } });

/** Asks until the chain has sealed, and no faster than it may. */
async function finishPatiently(token: string, id: string): Promise<Answer> {
  for (;;) {
    const answer = await finish(token, id);
    if (answer.status !== 429 && answer.body.error !== "TwoFactorAuthPending") return answer;
    await new Promise((resolve) => setTimeout(resolve, Number(answer.headers["retry-after"]) * 1000));
  }
}

const report = (person: Person, id: string, body: object) =>
  exchange("approveTwoFactor", { token: tokenOf(person), name: id, body });

/** The codes of an operation on one request. */
const ofOne = (operationId: string, body?: object): Partial<Record<Reason, Provoked>> => ({
  // A path that is not well formed; any other name is one that names nothing.
  InvalidRequest: async () =>
    exchange(operationId, { token: await nobodysToken(), name: "%zz", ...(body && { body }) }),
  TwoFactorAuthNotFound: async () => {
    const token = tokenOf(await owner());
    await exchange(operationId, { token, ...(body && { body }) });
    return exchange(operationId, { token, name: "1", ...(body && { body }) });
  },
});
const notPending = (operationId: string, body?: object): Partial<Record<Reason, Provoked>> => ({
  TwoFactorAuthNotPending: async () => {
    const { person, asker } = await rejected();
    return exchange(operationId, { token: tokenOf(person), name: asker.id, ...(body && { body }) });
  },
});

export const newDevice: Rows = {
  requestTwoFactor: {
    success: () => request({}, {}, { "idempotency-key": randomUUID() }),
    answer: z.strictObject({ twoFactorAuth, ephemeralAccessToken: z.string().regex(/^eyJ/) }),
    codes: {
      InvalidLoginToken: () => request({}, { token: "a.b.c" }),
      UnknownProvider: () => request({}, { provider: "nobody" }),
      IdentityProviderUnavailable: BROKEN_PROVIDER,
      UnknownChain: () => request({}, { chainName: "nowhere" }),
      UnsupportedKey: () => withKey(userKeyOf(newPhone("EdDSA"))),
      InvalidPublicKey: () => withKey({ publicKey: NOT_ON_THE_CURVE }),
      KeyBindingRequired: BROKEN_PROVIDER,
      AccountNotFound: async () => request({}, await logIn(newEmail())),
      AccountNotReady: async () => request({}, (await undeployed()).login),
      AccountFrozen: async () => request({}, await logIn((await frozen()).person.email)),
      KeyAlreadyRegistered: async () => request({ userKey: userKeyOf(await owner()) }),
      TooManyDevices: OPENING,
      TooManyKeys: OPENING,
      TwoFactorAuthClosed: async () => {
        const person = await signUpPerson();
        for (let times = 0; times < 3; times++) {
          await exchange("rejectTwoFactor", { token: tokenOf(person), name: (await ask(person)).id });
        }
        return request({}, await logIn(person.email));
      },
      TwoFactorAuthExpired: () =>
        repeated((id) =>
          query("auth", "UPDATE two_factor_sign_in SET expires_at = now() - interval '1 second' WHERE id = $1", [id]),
        ),
      IdempotencyKeyReused: () => repeated(async () => undefined, { userKey: userKeyOf(newPhone()) }),
      ChainUnavailable: OPENING,
      RateLimited: () => exhausted("two-factor", () => request()),
    },
  },
  finishTwoFactor: {
    success: async () => {
      const { person, asker } = await fresh();
      await approve(person, asker);
      return finishPatiently(asker.ephemeral, asker.requestId);
    },
    answer: signedIn,
    codes: {
      TwoFactorAuthNotFound: async () => finish((await fresh()).asker.ephemeral, randomUUID()),
      TwoFactorAuthPending: async () => {
        const { asker } = await fresh();
        return finish(asker.ephemeral, asker.id);
      },
      TwoFactorAuthRejected: async () => {
        const { asker } = await rejected();
        return finish(asker.ephemeral, asker.id);
      },
      TwoFactorAuthExpired: seenIn("tests/e2e/ephemeral-token.test.ts"),
      TwoFactorAuthFinished: seenIn("tests/e2e/new-device.test.ts"),
      TwoFactorAuthFailed: MESSAGES,
      RateLimited: async () => {
        const { asker } = await fresh();
        const answers = await Promise.all([1, 2, 3, 4].map(() => finish(asker.ephemeral, asker.id)));
        return answers.find(({ status }) => status === 429) ?? answers[0]!;
      },
      AccountFrozen: async () => {
        const { asker } = await frozen();
        return finishPatiently(asker.ephemeral, asker.id);
      },
      PleaseRegisterKey: FINISHING,
      DeviceConflict: seenIn("services/device/src/domain/devices/register-device.test.ts"),
      TooManyDevices: seenIn("services/device/src/domain/devices/register-device.test.ts"),
      TooManyKeys: seenIn("services/key/src/domain/register-key.test.ts"),
    },
  },
};

export const twoFactor: Rows = {
  listTwoFactor: {
    success: async () => {
      const { person } = await fresh();
      return exchange("listTwoFactor", { token: tokenOf(person), query: "?status=pending" });
    },
    answer: z.strictObject({ twoFactorAuths: z.array(twoFactorAuth.extend({ status: z.literal("pending") })).min(1) }),
    codes: {
      InvalidRequest: async () => exchange("listTwoFactor", { token: await nobodysToken(), query: "?status=open" }),
    },
  },
  reopenTwoFactor: {
    success: async () => exchange("reopenTwoFactor", { token: tokenOf(await owner()) }),
    codes: {},
  },
  getTwoFactor: {
    success: async () => {
      const { person, asker } = await fresh();
      return exchange("getTwoFactor", { token: tokenOf(person), name: asker.requestId });
    },
    answer: z.strictObject({ twoFactorAuth }),
    codes: ofOne("getTwoFactor"),
  },
  redirectTwoFactor: {
    success: async () => {
      const { person, asker } = await fresh();
      const { publicKey } = (await secondPhone(person)).deviceKey;
      const { id } = (await person.client.devices()).find((device) => device.publicKey === publicKey)!;
      return exchange("redirectTwoFactor", { token: tokenOf(person), name: asker.id, body: { destDeviceId: id } });
    },
    answer: z.strictObject({ twoFactorAuth }),
    codes: {
      ...ofOne("redirectTwoFactor", { destDeviceId: randomUUID() }),
      ...notPending("redirectTwoFactor", { destDeviceId: randomUUID() }),
      DeviceNotFound: async () => {
        const { person, asker } = await fresh();
        const body = { destDeviceId: randomUUID() };
        return exchange("redirectTwoFactor", { token: tokenOf(person), name: asker.id, body });
      },
    },
  },
  rejectTwoFactor: {
    success: async () => {
      const { person, asker } = await fresh();
      const answer = await exchange("rejectTwoFactor", { token: tokenOf(person), name: asker.id });
      await exchange("reopenTwoFactor", { token: tokenOf(person) });
      return answer;
    },
    codes: {
      ...ofOne("rejectTwoFactor"),
      TwoFactorAuthNotPending: async () => {
        const { person, asker } = await fresh();
        await approve(person, asker);
        return exchange("rejectTwoFactor", { token: tokenOf(person), name: asker.id });
      },
    },
  },
  approveTwoFactor: {
    success: async () => {
      const { person, asker } = await fresh();
      return approve(person, asker);
    },
    codes: {
      ...ofOne("approveTwoFactor", { txId: "ab".repeat(32) }),
      ...notPending("approveTwoFactor", { txId: "ab".repeat(32) }),
      MessageRenewed: async () => {
        const { person, asker } = await fresh();
        const signature = await signed(person, asker.message);
        // The server key's sequence number moves.
        await secondPhone(person);
        return report(person, asker.id, { signature });
      },
      InvalidSignature: async () => {
        const { person, asker } = await fresh();
        return report(person, asker.id, { signature: await signed(newPhone(), asker.message) });
      },
      TransactionMismatch: async () => {
        const { person, asker } = await fresh();
        return report(person, asker.id, { txId: person.signedUp.transaction.id });
      },
      TransactionPending: async () => {
        const { person, asker } = await fresh();
        return report(person, asker.id, { txId: "ab".repeat(32) });
      },
      AccountFrozen: async () => {
        const { person, waiting } = await frozen();
        return approve(person, waiting);
      },
      RateLimited: ATTACKS,
      SigningRefused: MESSAGES,
      UnsupportedKey: unprovoked("an account key on Flow is never of Ed25519"),
      TooManyDevices: APPROVING,
      TooManyKeys: APPROVING,
      AccountNotReady: unprovoked("who has a request to approve has an account on chain"),
      SignerNotCurrent: seenIn("packages/access-tokens/src/verifier.test.ts"),
      TimeLockRequired: RECOVERY,
      TimeLockCancelled: RECOVERY,
      ChainUnavailable: OPENING,
    },
  },
};
