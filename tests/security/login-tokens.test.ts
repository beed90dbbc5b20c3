import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { application, chainName, newEmail, stack } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, codeOf, idTokenOf, newVictim, remember } from "./attacker.ts";
import { BAD_TOKENS, fetched, token, victim } from "./bad-login-tokens.ts";
import { mintAccessToken, query, read } from "./token-forge.ts";

const phone = attackerPhone();
const userKey = { type: "device", publicKey: phone.deviceKey.publicKey, device: {} };
const signUp = (login: Record<string, unknown>) =>
  send({ method: "POST", path: "/auth/v1/signup", body: { chainName, userKey, ...login } });
const challenge = (login: Record<string, unknown>, publicKey = phone.deviceKey.publicKey) =>
  send({
    method: "POST",
    path: "/auth/v1/signin/challenge",
    body: { challengeType: "deviceKey", request: { chainName, ...login }, publicKey },
  });
const byToken = (value: string, more: Record<string, unknown> = {}) => ({
  method: "id_token_channel",
  token: value,
  ...more,
});

describe("ID tokens", () => {
  it("a valid one that is made in the same way is accepted", async () => {
    expectProblem(await challenge(byToken(token())), 400, "PleaseRegisterKey");
    expect((await challenge(byToken(token()), victim.deviceKey.publicKey)).status).toBe(200);
    expectProblem(await signUp(byToken(token())), 409, "AccountExists");
  });

  it.each(BAD_TOKENS)("%s: refused at sign-up and for a challenge", async (_, make) => {
    for (const ask of [signUp, challenge]) {
      expectProblem(await ask(byToken(make())), 401, "InvalidLoginToken");
      expectProblem(await ask(byToken(make(), { provider: "dev" })), 401, "InvalidLoginToken");
    }
  });

  it.each([
    ["another nonce than the token's", { nonce: "another" }, 401, "InvalidLoginToken"],
    ["a provider of nobody", { provider: "evil" }, 400, "UnknownProvider"],
    ["a provider that is a URL", { provider: "http://evil.example" }, 400, "UnknownProvider"],
    ["a provider of Object", { provider: "__proto__" }, 400, "UnknownProvider"],
    ["a method of Object", { method: "constructor" }, 400, "InvalidRequest"],
  ])("%s is refused", async (_, more, status, error) => {
    expectProblem(await signUp(byToken(victim.idToken, more)), status, error);
    expectProblem(await challenge(byToken(victim.idToken, more), victim.deviceKey.publicKey), status, error);
  });

  it("an identity with another person's e-mail address is not that person", async () => {
    const namesake = token({ sub: randomUUID(), email: victim.email, email_verified: true });
    expectProblem(await challenge(byToken(namesake), victim.deviceKey.publicKey), 400, "PleaseRegisterKey");
  });

  it.each<[string, Record<string, unknown>, number[]]>([
    ["NUL in the subject", { sub: "a\u0000b" }, [401]],
    ["a lone surrogate in the subject", { sub: "a\ud800b" }, [401]],
    ["a subject of Object", { sub: "__proto__" }, [400]],
    ["a subject with quotes", { sub: "' OR ''='" }, [400]],
    ["an e-mail with NUL", { sub: randomUUID(), email: "a\u0000@example.com" }, [400]],
    ["an e-mail that is a list", { sub: randomUUID(), email: ["a@example.com"] }, [400]],
    ["an endless name", { sub: randomUUID(), name: "x".repeat(8_000) }, [400]],
    ["a time of login far in the future", { sub: randomUUID(), auth_time: 1e300 }, [400]],
    ["a time of login before time", { sub: randomUUID(), auth_time: -1e300 }, [400]],
    ["a time of login that is text", { sub: randomUUID(), auth_time: "now" }, [400]],
    ["a nonce that is an object", { sub: randomUUID(), nonce: {} }, [400]],
  ])("%s in a good token breaks nothing", async (_, claims, statuses) => {
    expectProblem(await challenge(byToken(token(claims))), statuses, ["InvalidLoginToken", "PleaseRegisterKey"]);
  });

  it("a profile that the database cannot store is left out of the sign-up", async () => {
    const fresh = attackerPhone();
    const claims = {
      sub: randomUUID(),
      email: "a\u0000b@example.com",
      name: "\ud800",
      picture: "javascript:alert(document.domain)",
      auth_time: 1e300,
    };
    const body = {
      ...byToken(token(claims)),
      chainName,
      userKey: { ...userKey, publicKey: fresh.deviceKey.publicKey },
    };
    const answer = await send({ method: "POST", path: "/auth/v1/signup", body });
    expect(answer.status, answer.text).toBe(200);
    remember(answer.body);
    const { accessToken } = answer.body.credentials;
    const addresses = async () =>
      (await send({ method: "GET", path: "/account/v1/me", token: accessToken })).body.account.addresses;
    await expect.poll(addresses).not.toHaveLength(0);
    for (const { profileImageUrl } of await addresses()) expect(profileImageUrl).toBe("");
    expect(read(accessToken).claims).not.toHaveProperty("auth_time");
  });

  it("an access token of another account does not help a login", async () => {
    const other = await newVictim();
    const bearer = await mintAccessToken(other);
    const body = { ...byToken(victim.idToken), chainName, userKey };
    const answer = await send({ method: "POST", path: "/auth/v1/signup", body, token: bearer });
    expectProblem(answer, 409, "AccountExists");
  });

  it("the provider's own access token is accepted and never stored", async () => {
    const { accessToken } = await idTokenOf(victim.email);
    expect((await challenge(byToken(accessToken), victim.deviceKey.publicKey)).status).toBe(200);
    expectProblem(await challenge(byToken(accessToken, { nonce: victim.nonce })), 401, "InvalidLoginToken");
  });

  it("nothing is fetched from a URL in a token", () => {
    expect(fetched).toEqual([]);
  });
});

describe("codes", () => {
  const byCode = (code: string, codeVerifier: string, more: Record<string, unknown> = {}) => ({
    method: "redirect_code_channel",
    token: code,
    codeVerifier,
    redirectUri: application.redirectUri,
    ...more,
  });

  it.each<[string, (code: { code: string; codeVerifier: string }) => Record<string, unknown>]>([
    ["another verifier", ({ code }) => byCode(code, "x".repeat(43))],
    ["no verifier", ({ code }) => byCode(code, "")],
    [
      "another redirect URI",
      ({ code, codeVerifier }) => byCode(code, codeVerifier, { redirectUri: "http://evil.example/callback" }),
    ],
    [
      "a redirect URI below ours",
      ({ code, codeVerifier }) => byCode(code, codeVerifier, { redirectUri: `${application.redirectUri}/../evil` }),
    ],
    ["another nonce", ({ code, codeVerifier }) => byCode(code, codeVerifier, { nonce: "another" })],
    ["the code with a byte more", ({ code, codeVerifier }) => byCode(`${code}x`, codeVerifier)],
    ["the code as an ID token", ({ code }) => byToken(code)],
  ])("%s is refused", async (_, make) => {
    const code = await codeOf(newEmail());
    for (const ask of [challenge, signUp]) expectProblem(await ask(make(code)), 401, "InvalidLoginToken");
  });

  it("an ID token is no code", async () => {
    expectProblem(await challenge(byCode(victim.idToken, "x".repeat(43))), 401, "InvalidLoginToken");
  });

  it("a stolen code is of no use after its owner, with another key or another verifier", async () => {
    const code = await codeOf(victim.email);
    const own = byCode(code.code, code.codeVerifier);
    expect((await challenge(own, victim.deviceKey.publicKey)).status).toBe(200);
    expect((await challenge(own, victim.deviceKey.publicKey)).status).toBe(200);
    expectProblem(await challenge(own), 401, "InvalidLoginToken");
    // The mismatch has deleted it: the owner cannot use it either.
    expectProblem(await challenge(own, victim.deviceKey.publicKey), 401, "InvalidLoginToken");
  });

  it("at most one of twenty keys that use one code concurrently is accepted", async () => {
    const code = await codeOf(newEmail());
    const own = byCode(code.code, code.codeVerifier);
    const phones = Array.from({ length: 20 }, () => attackerPhone());
    const answers = await Promise.all(phones.map(({ deviceKey }) => challenge(own, deviceKey.publicKey)));
    const accepted = answers.filter(({ status }) => status !== 401);
    expect(accepted.length).toBeLessThanOrEqual(1);
    for (const answer of accepted) expectProblem(answer, 400, "PleaseRegisterKey");
  });
});

it("no attack has created an account", async () => {
  const { publicKey } = phone.deviceKey;
  expect(await query("auth", "SELECT 1 FROM sign_up WHERE account_key = $1 OR device_key = $1", [publicKey])).toEqual(
    [],
  );
  expect(await query("auth", "SELECT 1 FROM identity WHERE issuer <> $1", [stack.identityProvider.issuer])).toEqual([]);
});

it("a login that is bound to another key is refused", async () => {
  // The development client does not require key binding, but a nonce that is sent must match the token's.
  const { idToken, nonce } = await idTokenOf(newEmail(), phone.client.loginNonce);
  expect(nonce).toBe(phone.client.loginNonce);
  expectProblem(
    await challenge(byToken(idToken, { nonce: attackerPhone().client.loginNonce })),
    401,
    "InvalidLoginToken",
  );
});

afterwards();
