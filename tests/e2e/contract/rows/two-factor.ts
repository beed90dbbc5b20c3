import { randomUUID } from "node:crypto";
import type { Reason } from "@countersign/core";
import { z } from "zod";
import { query } from "../../../security/token-forge.ts";
import {
  chainName,
  logIn,
  newEmail,
  newPhone,
  type Person,
  secondPhone,
  signUpPerson,
  tokenOf,
} from "../../../support/person.ts";
import { nobodysToken, type Provoked } from "../common-codes.ts";
import { type Answer, exchange } from "../exchange.ts";
import {
  approve,
  enrollmentBody,
  exhausted,
  fullUserKeyOf,
  loginOf,
  once,
  requestEnrollment,
  signed,
  undeployed,
  userKeyOf,
} from "../people.ts";
import { signedIn, twoFactorAuth } from "../resources.ts";
import { type Rows, seenIn, unprovoked } from "../rows.ts";

const NOT_ON_THE_CURVE = "ab".repeat(64);
const ATTESTATION = seenIn("tests/e2e/attestation.test.ts");
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
  const requester = await requestEnrollment(person);
  await approve(person, requester);
  const waiting = await requestEnrollment(person);
  await exchange("freezeAccount", { token: tokenOf(person) });
  return { person, requester, waiting };
});
/** Returns a new request of the owner. */
async function fresh(): Promise<{ person: Person; requester: Awaited<ReturnType<typeof requestEnrollment>> }> {
  const person = await owner();
  return { person, requester: await requestEnrollment(person) };
}
/** Returns a request that was rejected, on an account that allows requests again. */
async function rejected() {
  const { person, requester } = await fresh();
  await exchange("rejectTwoFactor", { token: tokenOf(person), name: requester.id });
  await exchange("reopenTwoFactor", { token: tokenOf(person) });
  return { person, requester };
}

const request = async (change: object = {}, login: object = {}, headers: Record<string, string> = {}) => {
  const body = await enrollmentBody((await owner()).email, newPhone());
  return exchange("requestTwoFactor", {
    body: { ...body, request: { ...body.request, ...login }, ...change },
    headers,
  });
};
const withKey = (change: object) => request({ userKey: { ...userKeyOf(newPhone()), ...change } });

/** The same request again, under its key, after `between`. */
async function repeated(between: (id: string) => Promise<unknown>, change: object = {}): Promise<Answer> {
  const body = await enrollmentBody((await owner()).email, newPhone());
  const headers = { "idempotency-key": randomUUID() };
  const first = await exchange("requestTwoFactor", { body, headers });
  await between(first.body.twoFactorAuth.id);
  return exchange("requestTwoFactor", { body: { ...body, ...change }, headers });
}

const finish = (token: string, id: string) =>
  exchange("finishTwoFactor", { token, body: { twoFactorAuthRequestId: id } });

/** Repeats the request until the chain has sealed, at the allowed rate. */
async function finishOnceSealed(token: string, id: string): Promise<Answer> {
  for (;;) {
    const answer = await finish(token, id);
    if (answer.status !== 429 && answer.body.error !== "TwoFactorAuthPending") return answer;
    await new Promise((resolve) => setTimeout(resolve, Number(answer.headers["retry-after"]) * 1000));
  }
}

const report = (person: Person, id: string, body: object) =>
  exchange("approveTwoFactor", { token: tokenOf(person), name: id, body });

/** Returns the codes of an operation on one request. */
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
    const { person, requester } = await rejected();
    return exchange(operationId, { token: tokenOf(person), name: requester.id, ...(body && { body }) });
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
      AttestationRequired: ATTESTATION,
      InvalidAttestation: ATTESTATION,
      AccountNotFound: async () => request({}, await logIn(newEmail())),
      AccountNotReady: async () => request({}, (await undeployed()).login),
      AccountFrozen: async () => request({}, await logIn((await frozen()).person.email)),
      AccountLeft: seenIn("tests/e2e/recovery.test.ts"),
      KeyAlreadyRegistered: async () => request({ userKey: userKeyOf(await owner()) }),
      TooManyDevices: OPENING,
      TooManyKeys: OPENING,
      TwoFactorAuthClosed: async () => {
        const person = await signUpPerson();
        for (let times = 0; times < 3; times++) {
          await exchange("rejectTwoFactor", { token: tokenOf(person), name: (await requestEnrollment(person)).id });
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
    hostile: {
      // The account's own key asks to be added: valid to the last field, and refused.
      answers: ["KeyAlreadyRegistered"],
      sample: (victim) => ({
        body: { request: { ...loginOf(victim), chainName }, userKey: fullUserKeyOf(victim) },
      }),
    },
  },
  finishTwoFactor: {
    success: async () => {
      const { person, requester } = await fresh();
      await approve(person, requester);
      return finishOnceSealed(requester.ephemeral, requester.requestId);
    },
    answer: signedIn,
    codes: {
      TwoFactorAuthNotFound: async () => finish((await fresh()).requester.ephemeral, randomUUID()),
      TwoFactorAuthPending: async () => {
        const { requester } = await fresh();
        return finish(requester.ephemeral, requester.id);
      },
      TwoFactorAuthRejected: async () => {
        const { requester } = await rejected();
        return finish(requester.ephemeral, requester.id);
      },
      TwoFactorAuthExpired: seenIn("tests/e2e/ephemeral-token.test.ts"),
      TwoFactorAuthFinished: seenIn("tests/e2e/new-device.test.ts"),
      TwoFactorAuthFailed: MESSAGES,
      RateLimited: async () => {
        const { requester } = await fresh();
        const answers = await Promise.all([1, 2, 3, 4].map(() => finish(requester.ephemeral, requester.id)));
        return answers.find(({ status }) => status === 429) ?? answers[0]!;
      },
      AccountFrozen: async () => {
        const { requester } = await frozen();
        return finishOnceSealed(requester.ephemeral, requester.id);
      },
      PleaseRegisterKey: FINISHING,
      DeviceConflict: seenIn("services/device/src/domain/devices/register-device.test.ts"),
      TooManyDevices: seenIn("services/device/src/domain/devices/register-device.test.ts"),
      TooManyKeys: seenIn("services/key/src/domain/register-key.test.ts"),
    },
    hostile: {
      // A session's token is not the ephemeral one of a request.
      answers: ["InsufficientScope"],
      sample: () => ({ body: { twoFactorAuthRequestId: randomUUID() } }),
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
      const { person, requester } = await fresh();
      return exchange("getTwoFactor", { token: tokenOf(person), name: requester.requestId });
    },
    answer: z.strictObject({ twoFactorAuth }),
    codes: ofOne("getTwoFactor"),
    hostile: { answers: ["TwoFactorAuthNotFound"] },
  },
  redirectTwoFactor: {
    success: async () => {
      const { person, requester } = await fresh();
      const { publicKey } = (await secondPhone(person)).deviceKey;
      const { id } = (await person.client.devices()).find((device) => device.publicKey === publicKey)!;
      return exchange("redirectTwoFactor", { token: tokenOf(person), name: requester.id, body: { destDeviceId: id } });
    },
    answer: z.strictObject({ twoFactorAuth }),
    codes: {
      ...ofOne("redirectTwoFactor", { destDeviceId: randomUUID() }),
      ...notPending("redirectTwoFactor", { destDeviceId: randomUUID() }),
      DeviceNotFound: async () => {
        const { person, requester } = await fresh();
        const body = { destDeviceId: randomUUID() };
        return exchange("redirectTwoFactor", { token: tokenOf(person), name: requester.id, body });
      },
      RateLimited: seenIn("services/device/src/domain/two-factor/redirect-two-factor.test.ts"),
    },
    hostile: {
      answers: ["TwoFactorAuthNotFound"],
      sample: () => ({ body: { destDeviceId: randomUUID() } }),
    },
  },
  rejectTwoFactor: {
    success: async () => {
      const { person, requester } = await fresh();
      const answer = await exchange("rejectTwoFactor", { token: tokenOf(person), name: requester.id });
      await exchange("reopenTwoFactor", { token: tokenOf(person) });
      return answer;
    },
    codes: {
      ...ofOne("rejectTwoFactor"),
      TwoFactorAuthNotPending: async () => {
        const { person, requester } = await fresh();
        await approve(person, requester);
        return exchange("rejectTwoFactor", { token: tokenOf(person), name: requester.id });
      },
      TimeLockContested: seenIn("services/device/src/domain/two-factor/reject-two-factor.test.ts"),
    },
    hostile: { answers: ["TwoFactorAuthNotFound"] },
  },
  approveTwoFactor: {
    success: async () => {
      const { person, requester } = await fresh();
      return approve(person, requester);
    },
    codes: {
      ...ofOne("approveTwoFactor", { txId: "ab".repeat(32) }),
      ...notPending("approveTwoFactor", { txId: "ab".repeat(32) }),
      MessageRenewed: async () => {
        const { person, requester } = await fresh();
        const signature = await signed(person, requester.message);
        // The server key's sequence number moves.
        await secondPhone(person);
        return report(person, requester.id, { signature });
      },
      InvalidSignature: async () => {
        const { person, requester } = await fresh();
        return report(person, requester.id, { signature: await signed(newPhone(), requester.message) });
      },
      TransactionMismatch: async () => {
        const { person, requester } = await fresh();
        return report(person, requester.id, { txId: person.signedUp.transaction.id });
      },
      TransactionPending: async () => {
        const { person, requester } = await fresh();
        return report(person, requester.id, { txId: "ab".repeat(32) });
      },
      AccountFrozen: async () => {
        const { person, waiting } = await frozen();
        return approve(person, waiting);
      },
      RateLimited: ATTACKS,
      SigningRefused: MESSAGES,
      UnsupportedKey: unprovoked("an account key on Flow is never of Ed25519"),
      TooManyDevices: APPROVING,
      TooManyKeys: seenIn("services/device/src/domain/two-factor/approval-attempts.test.ts"),
      AccountNotReady: unprovoked("a person with a request to approve has an account on chain"),
      SignerNotCurrent: seenIn("packages/access-tokens/src/verifier.test.ts"),
      TimeLockRequired: RECOVERY,
      TimeLockCancelled: RECOVERY,
      ChainUnavailable: OPENING,
    },
    hostile: {
      answers: ["TwoFactorAuthNotFound"],
      sample: () => ({
        body: { signature: "ab".repeat(64), clientDataJSON: "data", authenticatorData: "AAAA" },
      }),
    },
  },
};
