import { type Clock, systemClock } from "@countersign/core";
import { type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import type { JWTHeaderParameters } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Login } from "../domain/login.ts";
import {
  client,
  clock,
  type FakeAnswer,
  fakeProvider,
  login,
  now,
  rememberedCodes,
  SUBJECT,
} from "../testing/fake-provider.ts";
import { createOpenIdProvider } from "./openid-provider.ts";
import type { ProviderClient, ProviderConfig } from "./providers-file.ts";
import { createVerifyLogin } from "./verify-login.ts";

const OPAQUE = "opaque-access-token_0123456789";
const key: PublicKey = generateKeyPair().publicKey;

let provider: Awaited<ReturnType<typeof fakeProvider>>;
let elsewhere: Awaited<ReturnType<typeof fakeProvider>>;
beforeAll(async () => {
  [provider, elsewhere] = await Promise.all([fakeProvider(), fakeProvider()]);
});
afterAll(() => Promise.all([provider.close(), elsewhere.close()]));

const active = (change: Record<string, unknown> = {}) => ({
  active: true,
  iss: provider.issuer,
  client_id: "wallet",
  sub: SUBJECT,
  iat: now - 60,
  exp: now + 300,
  token_type: "Bearer",
  scope: "openid email",
  ...change,
});
const person = (change: Record<string, unknown> = {}) => ({
  sub: SUBJECT,
  email: "a@example.com",
  email_verified: true,
  name: "A",
  picture: "https://p.example/a.png",
  ...change,
});
const introspection = (answer: FakeAnswer) => provider.answer("/introspect", () => answer);
const userInfo = (answer: FakeAnswer) => provider.answer("/userinfo", () => answer);
beforeEach(() => {
  introspection({ body: active() });
  userInfo({ body: person() });
  provider.requests.length = 0;
});

function verifier(change: Partial<ProviderConfig> = {}, clients: ProviderClient[] = [client()], time: Clock = clock) {
  const config: ProviderConfig = {
    name: "main",
    issuer: provider.issuer,
    allowInsecureHttp: true,
    clients,
    introspection: { clientId: "resource-server", clientSecret: "s3cret" },
    ...change,
  };
  return createVerifyLogin([createOpenIdProvider(config, time)], rememberedCodes());
}
const verify = (token: string, more: Partial<Login> = {}) => verifier()(login({ token, ...more }), [key]);
const refused = { reason: "InvalidLoginToken" };

const accessToken = (claims: object = {}, header: Partial<JWTHeaderParameters> = {}) =>
  provider.idToken({ client_id: "wallet", email: undefined, ...claims }, { typ: "at+jwt", ...header });

describe("opaque access tokens", () => {
  const profile = () => ({
    issuer: provider.issuer,
    subject: SUBJECT,
    email: "a@example.com",
    name: "A",
    picture: "https://p.example/a.png",
    app: { appId: "wallet", appName: "Wallet" },
    authTime: undefined,
  });

  it("are a login where the provider confirms them, with the profile of its userinfo endpoint", async () => {
    expect(await verify(OPAQUE)).toEqual(profile());
    expect(provider.lastForms.get("/introspect")).toMatchObject({
      token: OPAQUE,
      client_id: "resource-server",
      client_secret: "s3cret",
    });
    expect(provider.lastAuthorization()).toBe(`Bearer ${OPAQUE}`);
  });

  it.each<[string, Record<string, unknown>]>([
    ["auth_time", { auth_time: now }],
    ["an audience of the client", { aud: "wallet" }],
    ["several audiences, the client's among them", { aud: ["userinfo", "wallet"] }],
    ["no audience in a list", { aud: [] }],
    ["no token type and no issuer", { token_type: undefined, iss: undefined }],
  ])("with %s make no fresh login, but a login", async (_, change) => {
    introspection({ body: active(change) });
    expect(await verify(OPAQUE)).toEqual(profile());
  });

  it.each<[string, Record<string, unknown>]>([
    ["inactive", { active: false }],
    ["active in text", { active: "true" }],
    ["active as a number", { active: 1 }],
    ["without active", { active: undefined }],
    ["of another client", { client_id: "other" }],
    ["of no client", { client_id: undefined }],
    ["of a list of clients", { client_id: ["wallet"] }],
    ["of the resource server's own", { client_id: "resource-server" }],
    ["for another resource server", { aud: "https://api.example" }],
    ["for other resource servers", { aud: ["https://api.example", "https://other.example"] }],
    ["of another issuer", { iss: "https://evil.example" }],
    ["of a refresh token", { token_type: "refresh_token" }],
    ["of a DPoP token", { token_type: "DPoP" }],
    ["bound to a key", { cnf: { jkt: "x" } }],
    ["without a subject", { sub: undefined }],
    ["with an empty subject", { sub: "" }],
    ["with a subject as a number", { sub: 1 }],
    ["about another subject than userinfo", { sub: "another" }],
    ["expired", { exp: now - 60 }],
    ["without an end", { exp: undefined }],
    ["with an end in text", { exp: String(now + 300) }],
    ["with an end that is none", { exp: null }],
    ["issued eleven minutes ago", { iat: now - 660 }],
    ["issued in the future", { iat: now + 120 }],
    ["without a time of issue", { iat: undefined }],
    ["not valid yet", { nbf: now + 120 }],
  ])("refuses one that the provider calls %s", async (_, change) => {
    introspection({ body: active(change) });
    await expect(verify(OPAQUE)).rejects.toMatchObject(refused);
  });

  it.each<[string, FakeAnswer]>([
    ["of another person", { body: person({ sub: "another" }) }],
    ["of nobody", { body: person({ sub: undefined }) }],
    ["as a list", { body: [person()] }],
    ["as null", { body: "null" }],
    ["that is no JSON", { body: "{" }],
    ["as a JWT", { body: "a.b.c", type: "application/jwt" }],
    ["as text", { body: person(), type: "text/plain" }],
    ["as JSON in another type", { body: person(), type: "application/json-seq" }],
    ["that is endless", { body: person({ filler: "x".repeat(300 * 1024) }) }],
    ["that refuses the token", { status: 401, body: { error: "invalid_token" } }],
    ["with a challenge", { status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } }],
    ["that lacks a scope", { status: 403, body: { error: "insufficient_scope" } }],
  ])("refuses one with a userinfo answer %s", async (_, answer) => {
    userInfo(answer);
    await expect(verify(OPAQUE)).rejects.toMatchObject(refused);
  });

  it("with values that nest deeper than JSON.stringify goes are read or refused", async () => {
    const deep = "[".repeat(5_500) + "]".repeat(5_500);
    const withDeep = (value: object, name: string) => `${JSON.stringify(value).slice(0, -1)},"${name}":${deep}}`;
    userInfo({ body: withDeep(person(), "email_verified") });
    expect(await verify(OPAQUE)).toEqual({ ...profile(), email: "" });
    introspection({ body: withDeep(active(), "token_type") });
    await expect(verify(OPAQUE)).rejects.toMatchObject(refused);
  });

  it.each<[string, () => void]>([
    ["userinfo redirects", () => userInfo({ status: 302, headers: { location: `${elsewhere.issuer}/userinfo` } })],
    ["userinfo is broken", () => userInfo({ status: 500 })],
    ["introspection redirects", () => introspection({ status: 307, headers: { location: elsewhere.issuer } })],
    ["introspection is broken", () => introspection({ status: 502, body: "Bad gateway", type: "text/html" })],
    ["our credentials are refused", () => introspection({ status: 401, body: { error: "invalid_client" } })],
  ])("the provider is unavailable where %s; nothing is asked elsewhere", async (_, breakIt) => {
    elsewhere.requests.length = 0;
    breakIt();
    await expect(verify(OPAQUE)).rejects.toMatchObject({ reason: "IdentityProviderUnavailable" });
    expect(elsewhere.requests).toEqual([]);
  });

  it.each<[string, FakeAnswer]>([
    ["a JWT", { body: "a.b.c", type: "application/token-introspection+jwt" }],
    ["endless", { body: { active: true, filler: "x".repeat(300 * 1024) } }],
    ["no JSON", { body: "{" }],
    ["a refusal of the token", { status: 400, body: { error: "invalid_request" } }],
  ])("refuses one where the introspection is %s", async (_, answer) => {
    introspection(answer);
    await expect(verify(OPAQUE)).rejects.toMatchObject(refused);
  });

  it.each([
    "a b",
    "a@example.com",
    "token,token",
    "töken",
    "x".repeat(5_000),
    "=",
    "a.b.c",
    "..",
    "eyJhbGciOiJub25lIn0.e30.",
  ])("does not ask the provider about garbage: %s", async (token) => {
    await expect(verify(token)).rejects.toMatchObject(refused);
    expect(provider.requests).not.toContain("/introspect");
    expect(provider.requests).not.toContain("/userinfo");
  });

  it("are none where no introspection is configured, and the error says what to send", async () => {
    const plain = verifier({ introspection: undefined });
    await expect(plain(login({ token: OPAQUE }), [key])).rejects.toMatchObject({
      ...refused,
      detail: expect.stringContaining("send the ID token"),
    });
    expect(provider.requests).toEqual([]);
  });

  it("have the token in no error", async () => {
    const problems: unknown[] = [];
    for (const answer of [{ body: { active: false } }, { body: "{" }, { status: 401, body: { error: OPAQUE } }]) {
      introspection(answer);
      problems.push(await verify(OPAQUE).catch((error) => error.detail));
    }
    expect(problems).toHaveLength(3);
    expect(JSON.stringify(problems)).not.toContain(OPAQUE);
  });
});

describe("access tokens as JWTs (RFC 9068)", () => {
  it.each<[string, object, Partial<JWTHeaderParameters>]>([
    ["the short type", {}, {}],
    ["the long type", {}, { typ: "application/at+jwt" }],
    ["Keycloak's type among the claims", { typ: "Bearer", azp: "wallet", client_id: undefined }, { typ: "JWT" }],
  ])("are a login by their own rules, with %s", async (_, claims, header) => {
    const token = await accessToken({ ...claims, auth_time: now }, header);
    expect(await verify(token)).toMatchObject({ subject: SUBJECT, email: "a@example.com", authTime: undefined });
    expect(provider.requests).not.toContain("/introspect");
  });

  it("may be for the configured audience of this service", async () => {
    const token = await accessToken({ aud: "https://countersign.example" });
    await expect(verify(token)).rejects.toMatchObject(refused);
    const ours = verifier({ accessTokenAudience: "https://countersign.example" });
    await expect(ours(login({ token }), [key])).resolves.toMatchObject({ subject: SUBJECT });
  });

  it.each<[string, () => Promise<string>]>([
    ["of another client", () => accessToken({ client_id: "other" })],
    ["of no client", () => accessToken({ client_id: undefined })],
    ["for another resource server", () => accessToken({ aud: "https://api.example" })],
    ["for nobody", () => accessToken({ aud: [] })],
    ["of another issuer", () => accessToken({ iss: "https://evil.example" })],
    ["with another provider's signature", () => elsewhere.idToken({ iss: provider.issuer }, { typ: "at+jwt" })],
    ["expired", () => accessToken({ exp: now - 60, iat: now - 300 })],
    ["issued eleven minutes ago", () => accessToken({ iat: now - 660 })],
    ["without an end", () => accessToken({ exp: undefined })],
    ["bound to a key", () => accessToken({ cnf: { jkt: "x" } })],
    ["of another person than userinfo", () => accessToken({ sub: "another" })],
  ])("refuses one %s", async (_, token) => {
    await expect(verify(await token())).rejects.toMatchObject(refused);
  });

  it("a revoked one is refused by the userinfo endpoint", async () => {
    userInfo({ status: 401 });
    await expect(verify(await accessToken())).rejects.toMatchObject(refused);
  });
});

describe("one kind of token in the place of another", () => {
  it.each<[string, object, Partial<JWTHeaderParameters>]>([
    ["an ID token that calls itself an access token", {}, { typ: "at+jwt" }],
    ["a logout token", { events: { "http://schemas.openid.net/event/backchannel-logout": {} } }, {}],
    ["a logout token by its type", {}, { typ: "logout+jwt" }],
    ["a security event token", {}, { typ: "secevent+jwt" }],
    ["a refresh token by Keycloak's claim", { typ: "Refresh" }, {}],
    ["a type that is no text", { typ: 1 }, {}],
  ])("%s is no ID token", async (_, claims, header) => {
    await expect(verify(await provider.idToken(claims, header))).rejects.toMatchObject(refused);
  });

  it("an access token among a code's answer is no ID token", async () => {
    const token = await accessToken({ iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 300 });
    provider.answerCodes(() => ({ access_token: "a", token_type: "Bearer", id_token: token }));
    const verifyCode = verifier({}, [client()], systemClock);
    const code = login({ method: "redirect_code_channel", token: "code-at", codeVerifier: "v".repeat(43) });
    await expect(verifyCode(code, [key])).rejects.toMatchObject(refused);
  });

  it.each(["JWT", "jwt", undefined])("an ID token may have the type %s", async (typ) => {
    const header = typ === undefined ? {} : { typ };
    await expect(verify(await provider.idToken({}, header))).resolves.toMatchObject({ subject: SUBJECT });
  });
});

describe("key binding", () => {
  const bound = () => verifier({}, [client({ keyBinding: "required" })]);

  it("rejects an access token, also one with the nonce of the keys; the error says so", async () => {
    const jwt = await accessToken({ nonce: publicKeyFingerprint(key) });
    for (const token of [OPAQUE, jwt]) {
      for (const keys of [[key], []]) {
        await expect(bound()(login({ token }), keys)).rejects.toMatchObject({
          reason: "KeyBindingRequired",
          detail: expect.stringContaining("send the ID token"),
        });
      }
    }
  });

  it("a nonce beside an access token is refused", async () => {
    await expect(verify(OPAQUE, { nonce: "n" })).rejects.toMatchObject(refused);
  });
});

describe("the profile of a code", () => {
  const verifyCode = async (claims: object, ...answers: FakeAnswer[]) => {
    const iat = Math.floor(Date.now() / 1000);
    const idToken = await provider.idToken({ email: undefined, iat, exp: iat + 300, ...claims });
    provider.answerCodes(() => ({ access_token: OPAQUE, token_type: "Bearer", id_token: idToken }));
    for (const answer of answers) userInfo(answer);
    const code = { method: "redirect_code_channel", token: "code-1", codeVerifier: "v".repeat(43) } as const;
    return verifier({}, [client()], systemClock)(login(code), [key]);
  };

  it("comes from userinfo where the ID token has no e-mail", async () => {
    expect(await verifyCode({ name: "Own name" })).toMatchObject({
      email: "a@example.com",
      name: "Own name",
      picture: "https://p.example/a.png",
    });
    expect(provider.lastAuthorization()).toBe(`Bearer ${OPAQUE}`);
  });

  it("is the ID token's where that has an e-mail, also an unverified one", async () => {
    expect(await verifyCode({ email: "own@example.com" })).toMatchObject({ email: "own@example.com", name: "" });
    expect(await verifyCode({ email: "own@example.com", email_verified: false })).toMatchObject({ email: "" });
    expect(provider.requests).not.toContain("/userinfo");
  });

  it("has no e-mail that userinfo calls unverified, and none where userinfo refuses", async () => {
    for (const email_verified of [false, "false", ["false"], 0, "no", null]) {
      expect(await verifyCode({}, { body: person({ email_verified }) })).toMatchObject({ email: "", name: "A" });
    }
    expect(await verifyCode({}, { status: 403 })).toMatchObject({ email: "", subject: SUBJECT });
  });

  it("of another person refuses the login", async () => {
    await expect(verifyCode({}, { body: person({ sub: "another" }) })).rejects.toMatchObject(refused);
  });
});
