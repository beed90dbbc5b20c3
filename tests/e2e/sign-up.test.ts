import { randomUUID } from "node:crypto";
import { cadenceAddress, cadenceArray, encodeCadence, evmAddressesScript } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import {
  access,
  chainName,
  logIn,
  logInForCode,
  newEmail,
  newPhone,
  problemOf,
  signUpPerson,
  stack,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";

describe("sign-up", () => {
  it("deploys an account with server key, device key and EVM address", async () => {
    const { client, deviceKey, signedUp, address } = await signUpPerson();
    expect(signedUp.transaction).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{64}$/), chainName });
    expect(signedUp.account).toMatchObject({ parent: [], createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) });
    expect(signedUp.account.addresses).toEqual([
      expect.objectContaining({
        address: `0x${address}`,
        chainName,
        chainType: "cadence",
        chainId: 646,
        domainName: "",
      }),
      expect.objectContaining({ address: expect.stringMatching(/^0x[0-9a-f]{40}$/), chainType: "evm", chainId: 646 }),
    ]);
    const keys = await access.accountKeys(address);
    expect(keys.map(({ weight, hashAlgorithm, revoked }) => ({ weight, hashAlgorithm, revoked }))).toEqual([
      { weight: 999, hashAlgorithm: "SHA3_256", revoked: false },
      { weight: 1, hashAlgorithm: "SHA2_256", revoked: false },
    ]);
    expect(keys[1]?.publicKey).toBe(deviceKey.publicKey);
    const evm = await access.executeScript(evmAddressesScript("f8d6e0586b0a20c7"), [
      encodeCadence(cadenceArray([cadenceAddress(address)])),
    ]);
    expect((evm as string[]).map((entry) => `0x${entry}`)).toEqual([signedUp.account.addresses[1]?.address]);
    expect(await client.me()).toEqual(signedUp.account);
  });

  it("gives each of the accounts that are created together its own EVM address", async () => {
    const signUp = async () => newPhone().client.signUp({ login: await logIn(newEmail()), chainName });
    const signedUp = await Promise.all(Array.from({ length: 8 }, signUp));
    const shown = signedUp.map(({ account }) => account.addresses.map(({ address }) => address));
    const onChain = await access.executeScript(evmAddressesScript("f8d6e0586b0a20c7"), [
      encodeCadence(cadenceArray(shown.map(([address]) => cadenceAddress(address!.slice(2))))),
    ]);
    expect(shown.map(([, evm]) => evm)).toEqual((onChain as string[]).map((entry) => `0x${entry}`));
    expect(new Set(signedUp.map(({ transaction }) => transaction?.id)).size).toBeLessThan(8);
  });

  it("takes texts of 256 characters, each of which may be two units of UTF-16; not of 257", async () => {
    const { client } = newPhone();
    const signUp = async (name: string, osName = "iOS") =>
      client.signUp({ login: await logIn(newEmail()), chainName, device: { name, osName } });
    const tooLong = { status: 400, error: "InvalidRequest" };
    expect(await problemOf(signUp("😀".repeat(257)))).toMatchObject(tooLong);
    await signUp("😀".repeat(256), "𝄞".repeat(256));
    expect(await client.devices()).toMatchObject([{ name: "😀".repeat(256), osName: "𝄞".repeat(256) }]);
    expect((await client.updateDevice({ lang: "𐐷".repeat(256) })).lang).toBe("𐐷".repeat(256));
    expect(await problemOf(client.updateDevice({ lang: "𐐷".repeat(257) }))).toMatchObject(tooLong);
    const backup = newPhone().deviceKey;
    await client.registerRecoveryKey(backup, "🔑".repeat(256));
    expect((await client.keys({ includeRevoked: true })).at(-1)).toMatchObject({
      recoverKey: { cloudKey: { accountName: "🔑".repeat(256) } },
    });
  });

  it("of a device whose description has control characters makes nothing, and works without them", async () => {
    const { client } = newPhone();
    const email = newEmail();
    const signUp = async (name: string) => client.signUp({ login: await logIn(email), chainName, device: { name } });
    for (const name of ["Ann's\tphone", "\u0001", "a\u009f"]) {
      expect(await problemOf(signUp(name))).toMatchObject({ status: 400, error: "InvalidRequest" });
      await expect(client.signIn({ login: await logIn(email), chainName })).rejects.toMatchObject({
        error: "PleaseRegisterKey",
      });
    }
    await signUp("Ann's phone");
    expect(await client.devices()).toMatchObject([{ name: "Ann's phone" }]);
  });

  it("lists the device and the key afterwards", async () => {
    const { client, deviceKey, signedUp } = await signUpPerson();
    const devices = await client.devices();
    expect(devices).toEqual([
      expect.objectContaining({ publicKey: deviceKey.publicKey, name: "Test phone", type: "mobile", pushToken: "" }),
    ]);
    expect(await client.keys()).toEqual([
      expect.objectContaining({
        publicKey: deviceKey.publicKey,
        accountId: signedUp.account.id,
        appId: "demo",
        type: "user-key",
        keyIndex: 1,
        recoverKey: null,
        userKey: expect.objectContaining({ type: "device", device: expect.objectContaining({ id: devices[0]!.id }) }),
      }),
    ]);
  });

  it("takes an authorization code, and the same code for a challenge afterwards", async () => {
    const { client } = newPhone();
    const login = await logInForCode(newEmail());
    const first = await client.signUp({ login, chainName });
    const again = await client.signIn({ login, chainName });
    expect(again.account.id).toBe(first.account.id);
  });

  it("a code is bound to the key that it was first used with", async () => {
    const login = await logInForCode(newEmail());
    await newPhone().client.signUp({ login, chainName });
    expect(await problemOf(newPhone().client.signIn({ login, chainName }))).toMatchObject({
      status: 401,
      error: "InvalidLoginToken",
    });
  });

  it.each(["ES256K", "ES256"] as const)("carries a device key of %s", async (algorithm) => {
    const person = await signUpPerson(newPhone(algorithm));
    const [, key] = await access.accountKeys(person.address);
    expect(key).toMatchObject({ publicKey: person.deviceKey.publicKey, weight: 1 });
  });

  it("a key that Flow does not support is refused, with the supported algorithms", async () => {
    const login = await logIn(newEmail());
    const refused = newPhone("EdDSA").client.signUp({ login, chainName });
    expect(await problemOf(refused)).toMatchObject({ status: 400, error: "UnsupportedKey" });
  });

  it("concurrent sign-ups share a creation transaction", async () => {
    const people = await Promise.all(Array.from({ length: 12 }, () => signUpPerson()));
    expect(new Set(people.map((person) => person.address)).size).toBe(12);
    for (const { address, deviceKey } of people) {
      expect((await access.accountKeys(address))[1]?.publicKey).toBe(deviceKey.publicKey);
    }
    expect(new Set(people.map((person) => person.signedUp.transaction.id)).size).toBeLessThan(12);
  });

  it("the same request at once deploys once", async () => {
    const { client } = newPhone();
    const login = await logIn(newEmail());
    const answers = await Promise.allSettled(Array.from({ length: 4 }, () => client.signUp({ login, chainName })));
    const accounts = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.account] : []));
    expect(accounts.length).toBeGreaterThan(0);
    expect(new Set(accounts.map((account) => account.addresses[0]?.address)).size).toBe(1);
    const { account } = await client.signIn({ login, chainName });
    expect(account.id).toBe(accounts[0]?.id);
  });

  it("an identity that has an account is sent to 2FA, with any key", async () => {
    const { email, client } = await signUpPerson();
    expect(await problemOf(newPhone().client.signUp({ login: await logIn(email), chainName }))).toMatchObject({
      status: 409,
      error: "AccountExists",
    });
    const sameKey = newPhone();
    Object.assign(sameKey, { client });
    const login = await logIn(email);
    const body = {
      ...login,
      chainName,
      userKey: { type: "device", publicKey: client.deviceKey.publicKey, device: {} },
    };
    expect(await call("POST", "/auth/v1/signup", { body })).toMatchObject({
      status: 409,
      body: { error: "AccountExists" },
    });
  });

  it("a stale Authorization header does not change a sign-up that the login decides alone", async () => {
    const other = await signUpPerson();
    const { accessToken, refreshToken } = other.client.credentials!;
    const tampered = `${accessToken.slice(0, -8)}AAAAAAAA`;
    for (const authorization of [
      `Bearer ${accessToken}`,
      `Bearer ${refreshToken}`,
      `Bearer ${tampered}`,
      "Basic YTpi",
    ]) {
      const { deviceKey } = newPhone();
      const email = newEmail();
      const body = {
        ...(await logIn(email)),
        chainName,
        userKey: { type: "device", publicKey: deviceKey.publicKey, device: {} },
      };
      const answer = await call("POST", "/auth/v1/signup", { body, headers: { authorization } });
      expect(answer.status).toBe(200);
      expect(answer.body.account.id).not.toBe(other.signedUp.account.id);
      const again = { ...body, ...(await logIn(email)) };
      const refused = await call("POST", "/auth/v1/signup", { body: again, headers: { authorization } });
      expect(refused).toMatchObject({ status: 409, body: { error: "AccountExists" } });
      expect(refused.headers).not.toHaveProperty("www-authenticate");
      if (authorization.endsWith(tampered)) expect(refused.body.detail).toContain("(InvalidAccessToken)");
    }
  });

  it("an Idempotency-Key replays the answer with fresh tokens until they are used, and only for the same body", async () => {
    const { client, deviceKey } = newPhone();
    const login = await logIn(newEmail());
    const idempotencyKey = randomUUID();
    const first = await client.signUp({ login, chainName, idempotencyKey });
    const body = {
      ...login,
      chainName,
      userKey: {
        type: "device",
        publicKey: deviceKey.publicKey,
        algorithm: "ES256",
        device: { publicKey: deviceKey.publicKey, algorithm: "ES256" },
      },
    };
    const headers = { "idempotency-key": idempotencyKey };
    const replay = await call("POST", "/auth/v1/signup", { body, headers });
    expect(replay.status).toBe(200);
    expect(replay.body.account.id).toBe(first.account.id);
    expect(replay.body.credentials.accessToken).not.toBe(first.credentials.accessToken);
    expect(await client.sessions()).toHaveLength(1);
    // A copy of the request that comes late ends no session that the device has begun since.
    await client.signIn({ login, chainName });
    expect(await call("POST", "/auth/v1/signup", { body, headers })).toMatchObject({
      status: 409,
      body: { error: "AccountExists" },
    });
    expect(await client.me()).toMatchObject({ id: first.account.id });
    const other = { ...body, userKey: { ...body.userKey, publicKey: newPhone().deviceKey.publicKey } };
    expect(await call("POST", "/auth/v1/signup", { body: other, headers })).toMatchObject({
      status: 422,
      body: { error: "IdempotencyKeyReused" },
    });
  });

  it.each([
    ["no such chain", { chainName: "nowhere" }, 400, "UnknownChain"],
    ["no such provider", { provider: "nobody" }, 400, "UnknownProvider"],
    ["a token of nobody", { token: "eyJhbGciOiJub25lIn0.e30." }, 401, "InvalidLoginToken"],
    ["a method that is none", { method: "password" }, 400, "InvalidRequest"],
  ])("refuses %s", async (_, change, status, error) => {
    const login = await logIn(newEmail());
    const body = {
      ...login,
      chainName,
      userKey: { type: "device", publicKey: newPhone().deviceKey.publicKey, device: {} },
      ...change,
    };
    const answer = await call("POST", "/auth/v1/signup", { body });
    expect(answer).toMatchObject({ status, body: { status, error, instance: answer.headers["x-request-id"] } });
    expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  });
});

it("the development provider says at its root what it is", async () => {
  const answer = await fetch(stack.identityProvider.issuer);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("OpenID provider for development");
});
