import { FixedClock } from "@countersign/core/testing";
import { type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { base64url, SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Login } from "../domain/login.ts";
import { client, clock, fakeProvider, login, now, rememberedCodes } from "../testing/fake-provider.ts";
import { createOpenIdProvider } from "./openid-provider.ts";
import type { ProviderClient } from "./providers-file.ts";
import { createVerifyLogin } from "./verify-login.ts";

const key: PublicKey = generateKeyPair().publicKey;
const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

let provider: Awaited<ReturnType<typeof fakeProvider>>;
let elsewhere: Awaited<ReturnType<typeof fakeProvider>>;
beforeAll(async () => {
  [provider, elsewhere] = await Promise.all([fakeProvider(), fakeProvider()]);
});
afterAll(() => Promise.all([provider.close(), elsewhere.close()]));

function verifier(clients: ProviderClient[] = [client()]) {
  const config = { name: "main", issuer: provider.issuer, allowInsecureHttp: true, clients };
  return createVerifyLogin([createOpenIdProvider(config, clock)], rememberedCodes());
}

describe("ID tokens", () => {
  it("a good one names the person and the app", async () => {
    const auth_time = now - 60;
    const token = await provider.idToken({ name: "A", picture: "https://p.example/a.png", auth_time });
    expect(await verifier()(login({ token }), [key])).toEqual({
      issuer: provider.issuer,
      subject: "somebody",
      email: "a@example.com",
      name: "A",
      picture: "https://p.example/a.png",
      app: { appId: "wallet", appName: "Wallet" },
      authTime: new Date(auth_time * 1000),
    });
  });

  it.each<[string, unknown]>([
    ["no auth_time", undefined],
    ["an auth_time after the token was issued", now + 1],
    ["an auth_time far in the future", 1e300],
    ["an auth_time in milliseconds", now * 1000],
    ["a negative auth_time", -1e300],
    ["an auth_time in text", String(now)],
    ["an auth_time of null", null],
    ["a list as auth_time", [now]],
    ["a fraction as auth_time", now - 0.5],
  ])("%s does not say when the person logged in", async (_, auth_time) => {
    const profile = await verifier()(login({ token: await provider.idToken({ auth_time }) }), [key]);
    expect(profile.authTime).toBeUndefined();
  });

  it("is verified once, until it expires, and by its signature too", async () => {
    const time = new FixedClock(clock.now());
    const config = { name: "main", issuer: provider.issuer, allowInsecureHttp: true, clients: [client()] };
    const verify = createVerifyLogin([createOpenIdProvider(config, time)], rememberedCodes());
    const token = await provider.idToken({ iat: now, exp: now + 900 });
    const counted = vi.spyOn(crypto.subtle, "verify");
    const first = await verify(login({ token }), [key]);
    expect(await verify(login({ token }), [key])).toEqual(first);
    expect(counted).toHaveBeenCalledTimes(1);
    const [header, payload, signature] = token.split(".") as [string, string, string];
    const forged = `${header}.${payload}.${signature.startsWith("A") ? "B" : "A"}${signature.slice(1)}`;
    await expect(verify(login({ token: forged }), [key])).rejects.toMatchObject({ reason: "InvalidLoginToken" });
    // Ten minutes after it was issued, and the tolerance for clocks.
    time.advance(631_000);
    await expect(verify(login({ token }), [key])).rejects.toMatchObject({ reason: "InvalidLoginToken" });
    counted.mockRestore();
  });

  it("of a provider that moves its keys are verified without a restart, an hour later", async () => {
    const moving = await fakeProvider();
    const time = new FixedClock(clock.now());
    const config = { name: "main", issuer: moving.issuer, allowInsecureHttp: true, clients: [client()] };
    const verify = createVerifyLogin([createOpenIdProvider(config, time)], rememberedCodes());
    const logInAt = async (iat: number) =>
      verify(login({ token: await moving.idToken({ iat, exp: iat + 300 }) }), [key]);
    await logInAt(now);
    moving.moveKeys("/new-keys");
    time.advance(3_601_000);
    // The known address serves until the provider has answered.
    await logInAt(now + 3_601);
    const requestsAfterLogin = async () => {
      await logInAt(now + 3_601);
      return moving.requests;
    };
    await expect.poll(requestsAfterLogin).toContain("/new-keys");
    await moving.close();
  });

  it("a provider whose clock is ahead has nobody logged in after now", async () => {
    const token = await provider.idToken({ iat: now + 20, auth_time: now + 20 });
    expect((await verifier()(login({ token }), [key])).authTime).toEqual(clock.now());
  });

  it("a provider whose keys have no address is not available", async () => {
    const addressless = await fakeProvider();
    addressless.moveKeys(":");
    const config = { name: "main", issuer: addressless.issuer, allowInsecureHttp: true, clients: [client()] };
    const verify = createVerifyLogin([createOpenIdProvider(config, clock)], rememberedCodes());
    const token = await addressless.idToken();
    await expect(verify(login({ token }), [key])).rejects.toMatchObject({ reason: "IdentityProviderUnavailable" });
    await addressless.close();
  });

  it.each<[string, Record<string, unknown>, object]>([
    ["an unverified e-mail", { email: "a@example.com", email_verified: false }, { email: "" }],
    ["an e-mail with NUL", { email: "a\0@example.com" }, { email: "" }],
    ["an e-mail with a control character", { email: "a\u0085@example.com" }, { email: "" }],
    ["a name with a tab", { name: "Ann\tLee" }, { name: "" }],
    ["a name with a lone surrogate", { name: "\ud800" }, { name: "" }],
    ["a picture that is a program", { picture: "javascript:alert(1)" }, { picture: "" }],
    ["a picture that is no address", { picture: "picture" }, { picture: "" }],
  ])("%s counts as absent", async (_, claims, expected) => {
    expect(await verifier()(login({ token: await provider.idToken(claims) }), [key])).toMatchObject(expected);
  });

  const hmac = () =>
    new SignJWT({ iss: provider.issuer, aud: "wallet", sub: "x", iat: now, exp: now + 300 })
      .setProtectedHeader({ alg: "HS256", kid: "k1" })
      .sign(new TextEncoder().encode(JSON.stringify(provider.jwk)));
  const none = async () => {
    const [, payload] = (await provider.idToken()).split(".");
    return `${base64url.encode(JSON.stringify({ alg: "none" }))}.${payload}.`;
  };
  it.each<[string, () => Promise<string>]>([
    ["another issuer", () => provider.idToken({ iss: "https://evil.example" })],
    ["another provider's signature", () => elsewhere.idToken({ iss: provider.issuer })],
    ["another audience", () => provider.idToken({ aud: "other" })],
    ["several audiences without azp", () => provider.idToken({ aud: ["wallet", "other"] })],
    ["several audiences with somebody else's azp", () => provider.idToken({ aud: ["wallet", "other"], azp: "other" })],
    ["one audience with somebody else's azp", () => provider.idToken({ azp: "other" })],
    ["alg none", none],
    ["HS256 with the public key as the secret", hmac],
    ["an unknown key id", () => provider.idToken({}, { kid: "k2" })],
    ["expired", () => provider.idToken({ iat: now - 500, exp: now - 100 })],
    ["issued eleven minutes ago", () => provider.idToken({ iat: now - 660 })],
    ["issued in the future", () => provider.idToken({ iat: now + 120 })],
    ["not valid yet", () => provider.idToken({ nbf: now + 120 })],
    ["without a subject", () => provider.idToken({ sub: undefined })],
    ["an empty subject", () => provider.idToken({ sub: "" })],
    ["NUL in the subject", () => provider.idToken({ sub: "a\0b" })],
    ["without an expiry", () => provider.idToken({ exp: undefined })],
    ["without a time of issue", () => provider.idToken({ iat: undefined })],
    ["garbage", async () => "not.a.token"],
  ])("refuses one with %s", async (_, token) => {
    await expect(verifier()(login({ token: await token() }), [key])).rejects.toMatchObject({
      reason: "InvalidLoginToken",
    });
  });

  it.each<[string, () => Promise<string>, string | (() => string)]>([
    [
      "one that expired",
      () => provider.idToken({ iat: now - 500, exp: now - 100 }),
      "The ID token expired at 2026-11-20T09:58:20.000Z; log in again",
    ],
    [
      "one that expired before time",
      () => provider.idToken({ iat: now - 500, exp: -1e300 }),
      "The ID token expired at -1e+300; log in again",
    ],
    [
      "an old one",
      () => provider.idToken({ iat: now - 660 }),
      "The ID token was issued at 2026-11-20T09:49:00.000Z, more than 10 minutes ago; log in again",
    ],
    [
      "one of the future",
      () => provider.idToken({ iat: now + 120 }),
      "The ID token was issued in the future, at 2026-11-20T10:02:00.000Z",
    ],
    [
      "one for another client",
      () => provider.idToken({ aud: "other" }),
      'The ID token\'s audience is "other": no client of provider "main" that is registered here',
    ],
    [
      "one with an endless audience",
      () => provider.idToken({ aud: "x".repeat(5_000) }),
      `The ID token's audience is "${"x".repeat(119)}…: no client of provider "main" that is registered here`,
    ],
    [
      "one of several clients",
      () => provider.idToken({ aud: ["wallet", "other"], azp: "other" }),
      'The ID token\'s audience is ["wallet","other"], with the authorized party "other": no client of provider "main" that is registered here',
    ],
    [
      "one of another issuer",
      () => provider.idToken({ iss: "https://evil.example" }),
      () => `The ID token is of issuer "https://evil.example"; provider "main" has the issuer "${provider.issuer}"`,
    ],
    [
      "one that another issuer signed",
      () => elsewhere.idToken(),
      () => `The ID token is of issuer "${elsewhere.issuer}"; provider "main" has the issuer "${provider.issuer}"`,
    ],
    [
      "an access token that another issuer signed",
      () => elsewhere.idToken({ iss: "https://countersign.example" }, { typ: "at+jwt" }),
      () =>
        `The access token is of issuer "https://countersign.example"; provider "main" has the issuer "${provider.issuer}"`,
    ],
    [
      "one of an endless issuer, cut inside of a surrogate pair",
      () => elsewhere.idToken({ iss: `${"x".repeat(118)}😀${"x".repeat(5_000)}` }),
      () => `The ID token is of issuer "${"x".repeat(118)}\ufffd…; provider "main" has the issuer "${provider.issuer}"`,
    ],
    [
      "one whose issuer nests deeper than JSON.stringify goes",
      async () => `${base64url.encode("{}")}.${base64url.encode(`{"iss":${nested(5_500)}}`)}.AAAA`,
      () =>
        `The ID token is of issuer a value that nests too deep; provider "main" has the issuer "${provider.issuer}"`,
    ],
    [
      "one of another provider without an issuer",
      () => elsewhere.idToken({ iss: undefined }),
      'The ID token\'s signature is of none of the keys of provider "main"',
    ],
    [
      "one with a signature of others",
      () => elsewhere.idToken({ iss: provider.issuer }),
      'The ID token\'s signature is of none of the keys of provider "main"',
    ],
    ["one without a subject", () => provider.idToken({ sub: undefined }), 'The ID token has no claim "sub"'],
    ["an algorithm of nobody", hmac, "The ID token is signed with an algorithm that is not accepted"],
    ["garbage", async () => "not.a.token", "The token is neither a JWT nor an access token"],
  ])("says what is wrong with %s, and nothing of the token besides", async (_, token, detail) => {
    await expect(verifier()(login({ token: await token() }), [key])).rejects.toMatchObject({
      reason: "InvalidLoginToken",
      detail: typeof detail === "string" ? detail : detail(),
    });
  });

  it("several audiences with our own azp are ours", async () => {
    const token = await provider.idToken({ aud: ["wallet", "other"], azp: "wallet" });
    await expect(verifier()(login({ token }), [key])).resolves.toMatchObject({ subject: "somebody" });
  });

  it("fetches nothing that a token names", async () => {
    const before = elsewhere.requests.length;
    const jku = `${elsewhere.issuer}/jwks`;
    const token = await elsewhere.idToken({ iss: provider.issuer }, { jku, x5u: jku, jwk: elsewhere.jwk });
    await expect(verifier()(login({ token }), [key])).rejects.toMatchObject({ reason: "InvalidLoginToken" });
    expect(elsewhere.requests.length).toBe(before);
  });

  it("holds a sent nonce against the token's", async () => {
    const token = await provider.idToken({ nonce: "n1" });
    await expect(verifier()(login({ token, nonce: "n1" }), [key])).resolves.toBeDefined();
    await expect(verifier()(login({ token, nonce: "n2" }), [key])).rejects.toMatchObject({
      reason: "InvalidLoginToken",
    });
  });

  it("a client with key binding needs the key's fingerprint as the nonce", async () => {
    const bound = verifier([client({ keyBinding: "required" })]);
    const token = await provider.idToken({ nonce: publicKeyFingerprint(key) });
    await expect(bound(login({ token }), [key])).resolves.toBeDefined();
    const thief = generateKeyPair().publicKey;
    await expect(bound(login({ token }), [thief])).rejects.toMatchObject({ reason: "KeyBindingRequired" });
    await expect(bound(login({ token }), [thief, key])).rejects.toMatchObject({ reason: "KeyBindingRequired" });
    const unbound = await provider.idToken();
    await expect(bound(login({ token: unbound }), [key])).rejects.toMatchObject({ reason: "KeyBindingRequired" });
  });

  it("knows its providers by name, and a provider that is away from a bad token", async () => {
    const token = await provider.idToken();
    await expect(verifier()(login({ token, provider: "main" }), [key])).resolves.toBeDefined();
    await expect(verifier()(login({ token, provider: "other" }), [key])).rejects.toMatchObject({
      reason: "UnknownProvider",
      detail: 'There is no identity provider "other"; configured: "main"',
      fields: [{ pointer: "/login/provider" }],
    });
    provider.takeKeysAway(true);
    const withoutKeys = verifier()(login({ token }), [key]);
    await expect(withoutKeys).rejects.toMatchObject({ reason: "IdentityProviderUnavailable" });
    provider.takeKeysAway(false);
    const config = { name: "gone", issuer: "http://127.0.0.1:1", allowInsecureHttp: true, clients: [client()] };
    const away = createVerifyLogin([createOpenIdProvider(config, clock)], rememberedCodes());
    await expect(away(login({ token }), [key])).rejects.toMatchObject({ reason: "IdentityProviderUnavailable" });
  });
});

describe("several providers", () => {
  const configOf = (name: string, { issuer }: typeof provider) => ({
    name,
    issuer,
    allowInsecureHttp: true,
    clients: [client()],
  });
  const verify = () =>
    createVerifyLogin(
      [configOf("main", provider), configOf("second", elsewhere)].map((each) => createOpenIdProvider(each, clock)),
      rememberedCodes(),
    );

  it("an ID token names its own by the issuer", async () => {
    const token = await elsewhere.idToken();
    await expect(verify()(login({ token }), [key])).resolves.toMatchObject({ issuer: elsewhere.issuer });
  });

  it.each<[string, () => Promise<Partial<Login>>, string]>([
    [
      "an ID token of none of them",
      async () => ({ token: await provider.idToken({ iss: "https://evil.example" }) }),
      'The token is of "https://evil.example", which is no configured provider; configured: "main", "second"',
    ],
    [
      "a code",
      async () => ({ method: "redirect_code_channel", token: "code-1" }),
      'provider is missing, and the token does not say which one it is of; configured: "main", "second"',
    ],
  ])("%s is refused, with their names", async (_, make, detail) => {
    await expect(verify()(login(await make()), [key])).rejects.toMatchObject({
      reason: "UnknownProvider",
      detail,
      fields: [{ pointer: "/login/provider", detail }],
    });
  });
});
