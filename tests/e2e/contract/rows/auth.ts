import { randomUUID } from "node:crypto";
import { query } from "../../../security/token-forge.ts";
import { chainName, logIn, newEmail, newPhone, secondPhone, signUpPerson, tokenOf } from "../../../support/person.ts";
import { exchange } from "../exchange.ts";
import { exhausted, fullUserKeyOf, loginOf, once, signed, userKeyOf } from "../people.ts";
import { challenge, signedIn } from "../resources.ts";
import { type Rows, seenIn } from "../rows.ts";

const NOT_ON_THE_CURVE = "ab".repeat(64);
const ATTESTATION = seenIn("tests/e2e/attestation.test.ts");
const BROKEN_PROVIDER = seenIn("services/auth/src/clients/verify-login.test.ts");
// Of sign-ups on a further chain.
const DEVICE_STORE = seenIn("services/device/src/store/postgres-device-store.service.test.ts");
const KEY_STORE = seenIn("services/key/src/store/postgres-key-store.service.test.ts");
const person = once(signUpPerson);

const signUp = async (change: object = {}, headers: Record<string, string> = {}, phone = newPhone()) =>
  exchange("signUp", {
    body: { ...(await logIn(newEmail())), chainName, userKey: userKeyOf(phone), ...change },
    headers,
  });

const withKey = (change: object) => signUp({ userKey: { ...userKeyOf(newPhone()), ...change } });

async function issue(change: object = {}, request: object = {}) {
  const { login, deviceKey } = await person();
  const { publicKey } = deviceKey;
  const body = { challengeType: "deviceKey", request: { ...login, chainName, ...request }, publicKey, ...change };
  return exchange("issueChallenge", { body });
}

/** Answers a challenge with the signature over it, but for what is changed. */
async function respond(challengeData: string, change: object = {}) {
  const deviceKey = { signature: await signed(await person(), challengeData) };
  return exchange("respondChallenge", { body: { challengeType: "deviceKey", challengeData, deviceKey, ...change } });
}
const issued = async (): Promise<string> => (await issue()).body.challengeData;

/**
 * Resets auth's and account's databases to before the deployment. The signer's stays: it prevents a second
 * creation.
 */
async function forgetDeployment(accountId: string): Promise<void> {
  const late = "lease_until = now() + interval '1 hour'";
  await query("auth", `UPDATE sign_up SET deployed_at = NULL, completed_at = NULL, ${late} WHERE account_id = $1`, [
    accountId,
  ]);
  await query("account", "DELETE FROM address WHERE account_id = $1", [accountId]);
  await query("account", "UPDATE deployment SET state = 'queued', creation_id = NULL WHERE account_id = $1", [
    accountId,
  ]);
}

export const auth: Rows = {
  signUp: {
    success: () => signUp({}, { "idempotency-key": randomUUID() }),
    answer: signedIn,
    codes: {
      InvalidLoginToken: () => signUp({ token: "a.b.c" }),
      UnknownProvider: () => signUp({ provider: "nobody" }),
      IdentityProviderUnavailable: BROKEN_PROVIDER,
      UnknownChain: () => signUp({ chainName: "nowhere" }),
      UnsupportedKey: () => withKey(userKeyOf(newPhone("EdDSA"))),
      InvalidPublicKey: () => withKey({ publicKey: NOT_ON_THE_CURVE }),
      KeyBindingRequired: BROKEN_PROVIDER,
      AttestationRequired: ATTESTATION,
      InvalidAttestation: ATTESTATION,
      AccountExists: async () => signUp(await logIn((await person()).email)),
      IdempotencyKeyReused: async () => {
        const login = await logIn(newEmail());
        const headers = { "idempotency-key": randomUUID() };
        await signUp(login, headers);
        return signUp(login, headers);
      },
      DeploymentFailed: async () => {
        const phone = newPhone();
        const login = await logIn(newEmail());
        const { body } = await signUp(login, {}, phone);
        await forgetDeployment(body.account.id);
        return signUp(login, {}, phone);
      },
      PleaseRegisterKey: seenIn("services/auth/src/store/postgres-session-store.service.test.ts"),
      AccountFrozen: seenIn("services/auth/src/store/further-chains.service.test.ts"),
      DeviceConflict: DEVICE_STORE,
      TooManyDevices: DEVICE_STORE,
      TooManyKeys: KEY_STORE,
      RateLimited: () => exhausted("sign-up", () => signUp()),
    },
    hostile: {
      // The identity has its account: valid to the last field, and refused.
      answers: ["AccountExists"],
      sample: (victim) => ({ body: { ...loginOf(victim), chainName, userKey: fullUserKeyOf(victim) } }),
    },
  },
  issueChallenge: {
    success: () => issue(),
    answer: challenge,
    codes: {
      InvalidLoginToken: () => issue({}, { token: "a.b.c" }),
      UnknownProvider: () => issue({}, { provider: "nobody" }),
      IdentityProviderUnavailable: BROKEN_PROVIDER,
      UnknownChain: () => issue({}, { chainName: "nowhere" }),
      InvalidPublicKey: () => issue({ publicKey: NOT_ON_THE_CURVE }),
      PleaseRegisterKey: () => issue({ publicKey: newPhone().deviceKey.publicKey }),
      KeyBindingRequired: BROKEN_PROVIDER,
      AccountLeft: seenIn("tests/e2e/recovery.test.ts"),
      RateLimited: () => exhausted("challenge", () => issue()),
    },
    hostile: {
      sample: (victim) => ({
        body: {
          challengeType: "deviceKey",
          request: { ...loginOf(victim), chainName },
          publicKey: victim.deviceKey.publicKey,
          algorithm: "ES256",
          passKey: { username: "" },
        },
      }),
    },
  },
  respondChallenge: {
    success: async () => respond(await issued()),
    answer: signedIn,
    codes: {
      UnknownChallenge: async () => {
        const data = await issued();
        await respond(data);
        return respond(data);
      },
      ChallengeExpired: async () => {
        const data = await issued();
        await query("auth", "UPDATE challenge SET expires_at = now() - interval '1 second' WHERE data = $1", [data]);
        return respond(data);
      },
      ChallengeTypeMismatch: async () => {
        const passKey = { clientDataJSON: "{}", authenticatorData: "AAAA", signature: "AAAA" };
        return respond(await issued(), { challengeType: "passKey", passKey });
      },
      InvalidSignature: async () => {
        const data = await issued();
        return respond(data, { deviceKey: { signature: await signed(newPhone(), data) } });
      },
      PleaseRegisterKey: async () => {
        // A device that was removed after it got its challenge.
        const owner = await signUpPerson();
        const phone = await secondPhone(owner);
        const { challengeData } = await phone.client.requestChallenge({ login: await logIn(owner.email), chainName });
        await exchange("removeDevice", { token: tokenOf(owner), name: phone.deviceKey.publicKey });
        return respond(challengeData, { deviceKey: { signature: await signed(phone, challengeData) } });
      },
      RateLimited: async () => {
        const data = await issued();
        return exhausted("respond", () => respond(data));
      },
    },
    hostile: {
      answers: ["UnknownChallenge"],
      sample: () => ({
        body: {
          challengeType: "deviceKey",
          challengeData: "000102030405060708090a0b0c0d0e0f",
          deviceKey: { signature: "ab".repeat(64) },
          passKey: { clientDataJSON: "data", authenticatorData: "AAAA", signature: "AAAA" },
        },
      }),
    },
  },
};
