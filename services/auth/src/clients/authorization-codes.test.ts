import { systemClock } from "@countersign/core";
import { type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Login } from "../domain/login.ts";
import { client, fakeProvider, login, rememberedCodes } from "../testing/fake-provider.ts";
import { createOpenIdProvider } from "./openid-provider.ts";
import type { ProviderClient } from "./providers-file.ts";
import { createVerifyLogin } from "./verify-login.ts";

const key: PublicKey = generateKeyPair().publicKey;

let provider: Awaited<ReturnType<typeof fakeProvider>>;
beforeAll(async () => {
  provider = await fakeProvider();
});
afterAll(() => provider.close());

function verifier(clients: ProviderClient[] = [client()]) {
  const config = { name: "main", issuer: provider.issuer, allowInsecureHttp: true, clients };
  return createVerifyLogin([createOpenIdProvider(config, systemClock)], rememberedCodes());
}

describe("authorization codes", () => {
  let exchanges: number;
  // The library that exchanges codes has a clock of its own.
  const fresh = () => {
    const iat = Math.floor(Date.now() / 1000);
    return { iat, exp: iat + 300, nonce: "any" };
  };
  beforeEach(() => {
    exchanges = 0;
    provider.answerCodes(async () => {
      exchanges += 1;
      if (exchanges > 1) return { error: "invalid_grant" };
      return { access_token: "a", token_type: "Bearer", id_token: await provider.idToken(fresh()) };
    });
  });
  const code = (change: Partial<Login> = {}) =>
    login({ method: "redirect_code_channel", token: "code-1", codeVerifier: "v".repeat(43), ...change });

  it("one code serves twice for the same key, and is exchanged once", async () => {
    const verify = verifier();
    expect(await verify(code(), [key])).toEqual(await verify(code(), [key]));
    expect(exchanges).toBe(1);
  });

  it.each<[string, Partial<Login>, PublicKey]>([
    ["another key", {}, generateKeyPair().publicKey],
    ["another verifier", { codeVerifier: "w".repeat(43) }, key],
  ])("a second use with %s is refused, and ends the first one's", async (_, change, other) => {
    const verify = verifier();
    await verify(code(), [key]);
    await expect(verify(code(change), [other])).rejects.toMatchObject({ reason: "InvalidLoginToken" });
    await expect(verify(code(), [key])).rejects.toMatchObject({ reason: "InvalidLoginToken" });
  });

  const thief = generateKeyPair().publicKey;
  it.each<[string, readonly PublicKey[], readonly PublicKey[]]>([
    ["another key, also after a sign-in by name", [], [thief]],
    ["a second key beside its own", [key], [key, thief]],
  ])("one that is bound to a key does not serve %s", async (_, first, second) => {
    const idToken = await provider.idToken({ ...fresh(), nonce: publicKeyFingerprint(key) });
    provider.answerCodes(() => ({ access_token: "a", token_type: "Bearer", id_token: idToken }));
    const verify = verifier([client({ keyBinding: "required" })]);
    await verify(code(), first);
    await expect(verify(code(), second)).rejects.toMatchObject({ reason: "KeyBindingRequired" });
  });

  it.each<[string, Partial<Login>]>([
    ["without a verifier", { codeVerifier: "", redirectUri: "https://wallet.example/callback" }],
    ["with a redirect URI that is nobody's", { redirectUri: "https://evil.example/callback" }],
  ])("refuses a code %s, unasked", async (_, change) => {
    await expect(verifier()(code(change), [key])).rejects.toMatchObject({
      reason: "InvalidLoginToken",
    });
    expect(exchanges).toBe(0);
  });

  describe("without a redirect URI", () => {
    const other = client({ clientId: "other", redirectUris: ["https://other.example/callback"] });
    const plain = client({
      clientId: "plain",
      allowCodeWithoutVerifier: true,
      redirectUris: ["https://plain.example/callback"],
    });
    const twice = ["https://wallet.example/a", "https://wallet.example/b"];
    const threeFields = { codeVerifier: "" };
    const REDIRECT_URI = "/login/redirectUri";

    it.each<[string, ProviderClient[], Partial<Login>, string, string]>([
      ["the only client's only one", [client()], {}, "wallet", "https://wallet.example/callback"],
      [
        "the only client's default",
        [client({ redirectUris: twice, defaultRedirectUri: twice[1] })],
        {},
        "wallet",
        twice[1]!,
      ],
      [
        "the only client that takes codes without a verifier",
        [client(), plain, other],
        threeFields,
        "plain",
        "https://plain.example/callback",
      ],
      [
        "the only client with a default",
        [other, client({ redirectUris: twice, defaultRedirectUri: twice[0] })],
        {},
        "wallet",
        twice[0]!,
      ],
    ])("it is of %s", async (_, clients, change, clientId, redirectUri) => {
      provider.answerCodes(async () => ({
        access_token: "a",
        token_type: "Bearer",
        id_token: await provider.idToken({ ...fresh(), aud: clientId }),
      }));
      await expect(verifier(clients)(code(change), [key])).resolves.toBeDefined();
      expect(provider.lastForms.get("/token")).toMatchObject({ client_id: clientId, redirect_uri: redirectUri });
    });

    it.each<[string, ProviderClient[], Partial<Login>, string[], RegExp]>([
      ["two clients", [client(), other], {}, [REDIRECT_URI], /^redirectUri is missing; provider "main" has 2 clients/],
      [
        "two redirect URIs",
        [client({ redirectUris: twice })],
        {},
        [REDIRECT_URI],
        /^redirectUri is missing; client "wallet" has 2 redirect URIs/,
      ],
      [
        "two clients, and a codeVerifier that may have been forgotten",
        [client(), plain, { ...plain, clientId: "plain-2" }],
        threeFields,
        [REDIRECT_URI, "/login/codeVerifier"],
        /^redirectUri is missing; provider "main" has 2 clients/,
      ],
      [
        "two redirect URIs of the one client of several that takes such codes, which is not named",
        [client(), { ...plain, redirectUris: twice }],
        threeFields,
        [REDIRECT_URI, "/login/codeVerifier"],
        /^redirectUri is missing; the client that it implies has 2 redirect URIs/,
      ],
      [
        "two defaults",
        [other, client()].map((each) => ({ ...each, defaultRedirectUri: each.redirectUris[0] })),
        {},
        [REDIRECT_URI],
        /2 clients/,
      ],
      [
        "no client that takes codes without a verifier",
        [client()],
        threeFields,
        [REDIRECT_URI, "/login/codeVerifier"],
        /^redirectUri and codeVerifier are missing/,
      ],
    ])("%s: 400 that says so, and the provider is not asked", async (_, clients, change, pointers, detail) => {
      await expect(verifier(clients)(code(change), [key])).rejects.toMatchObject({
        reason: "InvalidRequest",
        detail: expect.stringMatching(detail),
        fields: pointers.map((pointer) => ({ pointer })),
      });
      expect(exchanges).toBe(0);
    });

    it("a code that the provider refuses is 400 where the client was a guess, and 401 where it was not", async () => {
      exchanges = 1;
      const refused = (clients: ProviderClient[], change = {}) => verifier(clients)(code(change), [key]);
      // A client that the app does not know is not named, and a forgotten codeVerifier is as likely.
      const detail = "The provider refused the code, whose client could only be inferred; send the login's redirectUri";
      await expect(refused([client(), plain], threeFields)).rejects.toMatchObject({
        reason: "InvalidRequest",
        detail: `${detail}, and its codeVerifier if the login used PKCE`,
        fields: [
          { pointer: REDIRECT_URI, detail },
          { pointer: "/login/codeVerifier", detail: "Required if the login used PKCE" },
        ],
      });
      const withDefault = client({ defaultRedirectUri: "https://wallet.example/callback" });
      await expect(refused([withDefault, other])).rejects.toMatchObject({
        reason: "InvalidRequest",
        detail,
        fields: [{ pointer: REDIRECT_URI, detail }],
      });
      await expect(refused([plain], threeFields)).rejects.toMatchObject({ reason: "InvalidLoginToken" });
      const named = { redirectUri: plain.redirectUris[0]!, codeVerifier: "" };
      await expect(refused([client(), plain], named)).rejects.toMatchObject({ reason: "InvalidLoginToken" });
    });
  });

  it("refuses what the provider refuses", async () => {
    exchanges = 1;
    await expect(verifier()(code(), [key])).rejects.toMatchObject({
      reason: "InvalidLoginToken",
    });
  });
});
