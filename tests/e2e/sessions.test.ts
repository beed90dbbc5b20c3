import { describe, expect, it } from "vitest";
import { chainName, logIn, newPhone, problemOf, secondPhone, signUpPerson } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

describe("sign-in by challenge", () => {
  it("opens a session of the same account, in the place of the device's older one", async () => {
    const { client, login, signedUp } = await signUpPerson();
    const [first] = await client.sessions();
    const { accessToken: token, refreshToken } = client.credentials!;
    const challenge = await client.requestChallenge({ login, chainName });
    expect(challenge.challengeData).toMatch(/^[0-9a-f]{32}$/);
    const signedIn = await client.respondChallenge(challenge);
    expect(signedIn.account).toEqual(signedUp.account);
    expect(signedIn.transaction).toEqual(signedUp.transaction);
    const [second, ...others] = await client.sessions();
    expect(others).toEqual([]);
    expect(second).toMatchObject({ current: true, app: first!.app, publicKey: first!.publicKey });
    expect(second!.id).not.toBe(first!.id);
    const refreshed = await call("POST", "/auth/v1/token/refresh", { body: { refreshToken } });
    expect(refreshed).toMatchObject({ status: 401, body: { error: "SessionEnded" } });
    const me = async () => (await call("GET", "/account/v1/me", { token })).body.error;
    await expect.poll(me, { timeout: 2_000, interval: 50 }).toBe("SessionEnded");
  });

  it("many concurrent times leaves one session of the device, and does not affect other devices", async () => {
    const person = await signUpPerson();
    const { client, login } = person;
    const other = await secondPhone(person);
    await Promise.all(Array.from({ length: 5 }, () => client.signIn({ login, chainName })));
    const devices = (await other.client.sessions()).map(({ publicKey }) => publicKey);
    expect(devices.sort()).toEqual([person, other].map(({ deviceKey }) => deviceKey.publicKey).sort());
  });

  it("succeeds once, also under concurrent answers", async () => {
    const { client, login } = await signUpPerson();
    const challenge = await client.requestChallenge({ login, chainName });
    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => client.respondChallenge(challenge)));
    expect(answers.filter((answer) => answer.status === "fulfilled")).toHaveLength(1);
    expect(await problemOf(client.respondChallenge(challenge))).toMatchObject({
      status: 400,
      error: "UnknownChallenge",
    });
  });

  it("a wrong signature is refused, the fifth ends the challenge", async () => {
    const { client, login } = await signUpPerson();
    const challenge = await client.requestChallenge({ login, chainName });
    for (let i = 0; i < 5; i++) {
      expect(await problemOf(newPhone().client.respondChallenge(challenge))).toMatchObject({
        status: 401,
        error: "InvalidSignature",
      });
    }
    expect(await problemOf(client.respondChallenge(challenge))).toMatchObject({
      status: 400,
      error: "UnknownChallenge",
    });
  });

  it("a key of another identity counts as not registered", async () => {
    const [one, other] = await Promise.all([signUpPerson(), signUpPerson()]);
    expect(await problemOf(newPhone().client.requestChallenge({ login: one.login, chainName }))).toMatchObject({
      status: 400,
      error: "PleaseRegisterKey",
    });
    expect(await problemOf(one.client.requestChallenge({ login: other.login, chainName }))).toMatchObject({
      status: 400,
      error: "PleaseRegisterKey",
    });
  });

  it("needs a login token", async () => {
    const { client } = await signUpPerson();
    const answer = await call("POST", "/auth/v1/signin/challenge", {
      body: { challengeType: "deviceKey", request: { chainName }, publicKey: client.deviceKey.publicKey },
    });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
  });
});

describe("sessions", () => {
  it("refresh rotates; a quick retry gets the same successor; an old token ends the session", async () => {
    const { client, signedUp } = await signUpPerson();
    const first = signedUp.credentials.refreshToken;
    const refresh = (refreshToken: string) => call("POST", "/auth/v1/token/refresh", { body: { refreshToken } });
    const second = await refresh(first);
    expect(second.status).toBe(200);
    const retry = await refresh(first);
    const successor = ({ body }: typeof retry) => {
      const [, payload] = body.credentials.refreshToken.split(".");
      const { jti, exp } = JSON.parse(Buffer.from(payload, "base64url").toString());
      return { jti, exp };
    };
    expect(successor(retry)).toEqual(successor(second));
    const third = await refresh(second.body.credentials.refreshToken);
    expect(third.status).toBe(200);
    expect(await refresh(first)).toMatchObject({ status: 401, body: { error: "RefreshTokenReused" } });
    expect(await refresh(third.body.credentials.refreshToken)).toMatchObject({
      status: 401,
      body: { error: "SessionEnded" },
    });
    expect(client.credentials).toBeDefined();
  });

  it("an ended session's access token stops working within two seconds", async () => {
    const person = await signUpPerson();
    const { client } = await secondPhone(person);
    const old = person.client.credentials!.accessToken;
    const other = (await client.sessions()).find((session) => !session.current)!;
    await client.endSession(other.id);
    const me = () => call("GET", "/account/v1/me", { token: old });
    await expect.poll(async () => (await me()).status, { timeout: 2000, interval: 50 }).toBe(401);
    expect((await me()).body.error).toBe("SessionEnded");
    expect((await client.me()).addresses).toHaveLength(2);
  });

  it("sign-out ends the own session", async () => {
    const { client } = await signUpPerson();
    const { accessToken, refreshToken } = client.credentials!;
    await client.signOut();
    const refreshed = await call("POST", "/auth/v1/token/refresh", { body: { refreshToken } });
    expect(refreshed).toMatchObject({ status: 401, body: { error: "SessionEnded" } });
    expect(refreshed.headers["www-authenticate"] ?? "").not.toContain("invalid_token");
    const me = () => call("GET", "/account/v1/me", { token: accessToken });
    await expect.poll(async () => (await me()).status, { timeout: 2000, interval: 50 }).toBe(401);
    const refused = await me();
    expect(refused.body.error).toBe("SessionEnded");
    expect(refused.headers["www-authenticate"]).toContain('error="invalid_token"');
  });

  it("another account's session is not found", async () => {
    const [one, other] = await Promise.all([signUpPerson(), signUpPerson()]);
    const [session] = await other.client.sessions();
    expect(await problemOf(one.client.endSession(session!.id))).toMatchObject({
      status: 404,
      error: "SessionNotFound",
    });
    expect((await other.client.me()).id).toBe(other.signedUp.account.id);
  });

  it("the published keys verify the access token", async () => {
    const { client } = await signUpPerson();
    const { keys } = (await call("GET", "/.well-known/jwks.json")).body;
    const [header] = client.credentials!.accessToken.split(".");
    const { kid, alg, typ } = JSON.parse(Buffer.from(header!, "base64url").toString());
    expect({ alg, typ }).toEqual({ alg: "ES256", typ: "at+jwt" });
    expect(keys).toContainEqual(expect.objectContaining({ kid, kty: "EC", crv: "P-256" }));
    for (const key of keys) expect(key).not.toHaveProperty("d");
  });

  it.each([
    ["no token", undefined, "Unauthenticated"],
    ["garbage", "garbage", "InvalidAccessToken"],
    ["alg none", `${btoa('{"alg":"none","typ":"at+jwt"}')}.${btoa("{}")}.`, "InvalidAccessToken"],
  ])("%s does not open account/me", async (_, token, error) => {
    const answer = await call("GET", "/account/v1/me", { token });
    expect(answer).toMatchObject({ status: 401, body: { error } });
    expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/);
  });
});

describe("devices", () => {
  it("a device is renamed; another account's is not found", async () => {
    const [one, other] = await Promise.all([signUpPerson(), signUpPerson()]);
    const device = await one.client.updateDevice({ name: "Renamed", pushToken: "push-1" });
    expect(device).toMatchObject({ name: "Renamed", pushToken: "push-1", type: "mobile" });
    // The sign-up itself may be noted as a use meanwhile.
    expect(await one.client.devices()).toEqual([{ ...device, lastUsedAt: expect.any(String) }]);
    expect(await problemOf(one.client.updateDevice({ name: "Mine now" }, other.deviceKey.publicKey))).toMatchObject({
      status: 404,
      error: "DeviceNotFound",
    });
  });

  it("a removed device is refused at once: its session, its refresh token, its key for sign-in and for co-signing", async () => {
    const person = await signUpPerson();
    const { client, deviceKey, login } = person;
    await secondPhone(person);
    const { accessToken: token, refreshToken } = client.credentials!;
    await client.removeDevice(deviceKey.publicKey);
    await expect
      .poll(async () => (await call("GET", "/account/v1/me", { token })).status, { timeout: 2000, interval: 50 })
      .toBe(401);
    expect((await call("POST", "/auth/v1/token/refresh", { body: { refreshToken } })).status).toBe(401);
    expect(await problemOf(client.requestChallenge({ login, chainName }))).toMatchObject({
      error: "PleaseRegisterKey",
    });
    const sign = await call("POST", "/sign/v1/cadence/transaction", { token, body: { message: "00" } });
    expect(sign.status).toBe(401);
  });

  it("another account's device cannot be removed", async () => {
    const [one, other] = await Promise.all([signUpPerson(), signUpPerson()]);
    expect(await problemOf(one.client.removeDevice(other.deviceKey.publicKey))).toMatchObject({
      status: 404,
      error: "DeviceNotFound",
    });
    expect((await other.client.devices()).length).toBe(1);
  });
});

it("a login token that was read a second time still signs in", async () => {
  const { client, email, signedUp } = await signUpPerson();
  const { account } = await client.signIn({ login: await logIn(email), chainName });
  expect(account.id).toBe(signedUp.account.id);
});
