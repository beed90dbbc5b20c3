import { randomUUID } from "node:crypto";
import type { Attest, Attestation } from "@countersign/client";
import {
  createAppAttest,
  createPlayIntegrity,
  integrityPayload,
} from "@countersign/local-stack/testing/attestations.ts";
import * as people from "@countersign/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stateDir } from "../security/secrets.ts";
import { APP_ID, attestedApp, DIGEST, PACKAGE } from "../support/attested-app.ts";
import { chainName, logIn, newEmail, newPhone, problemOf, signUpPerson, stack } from "../support/person.ts";

const app = await attestedApp(stateDir);
const { apple, google, onIos, onAndroid } = app;

const phoneWith = (attest?: Attest) => people.createPhone(stack, attest && { attest });
/** Returns the same phone with a client that makes no attestations. */
const withoutAttest = ({ deviceKey }: people.Phone) => people.createPhone(stack, { deviceKey });
const required = { status: 403, error: "AttestationRequired" };
const invalid = { status: 403, error: "InvalidAttestation" };
const signUpWith = async (attest?: Attest) =>
  phoneWith(attest).client.signUp({ login: await logIn(newEmail()), chainName });

beforeAll(app.require);
afterAll(app.stop);

describe("an app that requires attestations", () => {
  it("signs an iPhone up and enrolls an Android phone, and the other way round", async () => {
    for (const [first, second] of [
      [onIos, onAndroid],
      [onAndroid, onIos],
    ] as const) {
      const owner = await signUpPerson(phoneWith(first));
      const further = await people.secondPhone(stack, owner, phoneWith(second));
      expect(await further.client.devices()).toHaveLength(2);
      // Signing in on a known device needs none.
      await withoutAttest(owner).client.signIn({ login: await logIn(owner.email), chainName });
    }
  });

  it("refuses sign-up and enrollment without one", async () => {
    const { email } = await signUpPerson(phoneWith(onIos));
    expect(await problemOf(signUpWith())).toMatchObject(required);
    expect(await problemOf(signUpWith(async () => undefined))).toMatchObject(required);
    const enrollment = newPhone().client.requestTwoFactor({ login: await logIn(email), chainName });
    expect(await problemOf(enrollment)).toMatchObject(required);
  });

  it("refuses those of another app, environment, authority or without the verdict", async () => {
    const foreign = await createAppAttest();
    const google2 = await createPlayIntegrity();
    const payloadOf = (nonce: string, at?: Date) => integrityPayload(PACKAGE, DIGEST, nonce, at);
    const token = async (payload: object, keys = google): Promise<Attestation> => ({
      type: "play-integrity",
      token: await keys.token(payload),
    });
    const attacks: Record<string, Attest> = {
      "another app": ({ clientDataHash: hash }) => apple.attest("A1B2C3D4E5.com.example.thief", hash),
      "a development build": ({ clientDataHash: hash }) => apple.attest(APP_ID, hash, { environment: "development" }),
      "a foreign root": ({ clientDataHash: hash }) => foreign.attest(APP_ID, hash),
      "a used key": ({ clientDataHash: hash }) => apple.attest(APP_ID, hash, { counter: 1 }),
      "another package": ({ nonce }) => token(integrityPayload("com.example.thief", DIGEST, nonce)),
      "other keys": ({ nonce }) => token(payloadOf(nonce), google2),
      "no verdict": ({ nonce }) => token({ ...payloadOf(nonce), deviceIntegrity: {} }),
      "an old token": ({ nonce }) => token(payloadOf(nonce, new Date(Date.now() - 11 * 60_000))),
      garbage: async () => ({ type: "app-attest", keyId: "AAAA", token: "x".repeat(16_384) }),
    };
    for (const [name, attest] of Object.entries(attacks)) {
      expect(await problemOf(signUpWith(attest)), name).toMatchObject(invalid);
    }
    const huge = async () => ({ type: "app-attest", token: "x".repeat(16_385) }) as const;
    expect(await problemOf(signUpWith(huge))).toMatchObject({ status: 400, error: "InvalidRequest" });
  });

  it("takes none of another request: operation, device key, login", async () => {
    const person = await signUpPerson(phoneWith(onIos));
    const login = await logIn(person.email);
    const made: Attestation[] = [];
    const keeping: Attest = async (request) => {
      const attestation = (await onIos(request))!;
      made.push(attestation);
      return attestation;
    };
    // The identity has an account: the attestation of this sign-up is good, and stays unused by enrollments.
    const phone = phoneWith(keeping);
    const idempotencyKey = randomUUID();
    expect(await problemOf(phone.client.signUp({ login, chainName }))).toMatchObject({ error: "AccountExists" });
    const [ofSignUp] = made;
    const again = people.createPhone(stack, { deviceKey: phone.deviceKey, attest: async () => ofSignUp });
    expect(await problemOf(again.client.requestTwoFactor({ login, chainName, idempotencyKey }))).toMatchObject(invalid);

    const opened = await phone.client.requestTwoFactor({ login, chainName });
    expect(opened.twoFactorAuth.status).toBe("pending");
    const ofEnrollment = made[1]!;
    const otherKey = phoneWith(async () => ofEnrollment);
    expect(await problemOf(otherKey.client.requestTwoFactor({ login, chainName }))).toMatchObject(invalid);
    const otherLogin = people.createPhone(stack, { deviceKey: phone.deviceKey, attest: async () => ofEnrollment });
    const next = await logIn(person.email);
    expect(await problemOf(otherLogin.client.requestTwoFactor({ login: next, chainName }))).toMatchObject(invalid);
  });

  it("takes one once, also of many at once; its own request is repeated with the Idempotency-Key", async () => {
    const person = await signUpPerson(phoneWith(onIos));
    for (const attest of [onIos, onAndroid]) {
      const login = await logIn(person.email);
      let made: ReturnType<Attest> | undefined;
      const once: Attest = (request) => {
        made ??= attest(request);
        return made;
      };
      const { client } = phoneWith(once);
      const race = await Promise.allSettled([1, 2, 3].map(() => client.requestTwoFactor({ login, chainName })));
      const refusals = race.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
      expect(refusals).toHaveLength(2);
      for (const each of refusals) expect(each).toMatchObject(invalid);

      made = undefined;
      const repeated = phoneWith(once).client;
      const options = { login: await logIn(person.email), chainName, idempotencyKey: randomUUID() };
      const { twoFactorAuth } = await repeated.requestTwoFactor(options);
      expect((await repeated.requestTwoFactor(options)).twoFactorAuth.id).toBe(twoFactorAuth.id);
      const other = { ...options, idempotencyKey: randomUUID() };
      expect(await problemOf(repeated.requestTwoFactor(other))).toMatchObject(invalid);
    }
  });

  it("takes none of a platform that it has not configured, and none at all in mode off", async () => {
    await app.write([{ ...app.policy, playIntegrity: undefined }], "InvalidAttestation", onAndroid);
    expect(await problemOf(signUpWith(onAndroid))).toMatchObject(invalid);
    await signUpWith(onIos);
    await app.write([{ ...app.policy, mode: "off" }], "AccountNotFound");
    await signUpWith();
    await signUpWith(async () => ({ type: "app-attest", keyId: "AAAA", token: "AAAA" }));
  });
});
