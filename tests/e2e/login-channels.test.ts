import { FOREIGN_CLIENT, SERVER_APP_CLIENT } from "@countersign/local-stack/identity-provider.ts";
import { exchangeCode, loginAtDevelopmentProvider } from "@countersign/testing";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { application, chainName, newEmail, newPhone, type Phone, stack } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

const { issuer, clients } = stack.identityProvider;
const serverApp = clients.find(({ clientId }) => clientId === SERVER_APP_CLIENT)!;

const userKeyOf = ({ deviceKey }: Phone) => ({ type: "device", publicKey: deviceKey.publicKey, device: {} });
const signUp = (phone: Phone, login: object) =>
  call("POST", "/auth/v1/signup", { body: { ...login, chainName, userKey: userKeyOf(phone) } });
const challenge = ({ deviceKey: { publicKey } }: Phone, login: object) =>
  call("POST", "/auth/v1/signin/challenge", {
    body: { challengeType: "deviceKey", publicKey, request: { ...login, chainName } },
  });
const requestTwoFactor = (phone: Phone, login: object) =>
  call("POST", "/auth/v1/signin/2fa", { body: { request: { ...login, chainName }, userKey: userKeyOf(phone) } });

const emailOf = async (accountId: string) => {
  const rows = (await query("auth", "SELECT email FROM identity WHERE account_id = $1", [accountId])) as {
    email: string;
  }[];
  return rows[0]?.email;
};

describe("an access token of the provider", () => {
  const accessTokenOf = async (email: string, client = application as { clientId: string; redirectUri: string }) => {
    const code = await loginAtDevelopmentProvider({ issuer, ...client, email });
    return (await exchangeCode(issuer, code)).accessToken;
  };
  const byToken = (token: string) => ({ method: "id_token_channel", token });
  const REFUSED = { status: 401, body: { error: "InvalidLoginToken" } };

  it("signs up and signs in, with the e-mail of the userinfo endpoint", async () => {
    const phone = newPhone();
    const email = newEmail();
    const token = await accessTokenOf(email);
    expect(token).not.toContain(".");
    const signedUp = await signUp(phone, byToken(token));
    expect(signedUp.status, JSON.stringify(signedUp.body)).toBe(200);
    expect(await emailOf(signedUp.body.account.id)).toBe(email);
    expect(signedUp.body.account.addresses[0].profileImageUrl).toMatch(/\/picture\/.+\.svg$/);
    const signedIn = await phone.client.signIn({
      login: { method: "id_token_channel", token: await accessTokenOf(email) },
      chainName,
    });
    expect(signedIn.account.id).toBe(signedUp.body.account.id);
    const claims = JSON.parse(Buffer.from(signedIn.credentials.accessToken.split(".")[1]!, "base64url").toString());
    expect(claims).not.toHaveProperty("auth_time");
    const other = newPhone();
    expect(await requestTwoFactor(other, byToken(await accessTokenOf(email)))).toMatchObject({ status: 200 });
  });

  it("of another client is refused, and so is a revoked one and one of nobody", async () => {
    const phone = newPhone();
    const foreign = await accessTokenOf(newEmail(), FOREIGN_CLIENT);
    const revoked = await accessTokenOf(newEmail());
    expect(await challenge(phone, byToken(revoked))).toMatchObject({
      status: 400,
      body: { error: "PleaseRegisterKey" },
    });
    const revocation = await fetch(`${issuer}/token/revocation`, {
      method: "POST",
      body: new URLSearchParams({ client_id: application.clientId, token: revoked }),
    });
    expect(revocation.status).toBe(200);
    for (const token of [foreign, revoked, "x".repeat(43)]) {
      for (const ask of [signUp, challenge, requestTwoFactor]) {
        const answer = await ask(phone, byToken(token));
        expect(answer).toMatchObject(REFUSED);
        expect(JSON.stringify(answer.body)).not.toContain(token);
      }
    }
    expect((await signUp(phone, byToken(foreign))).body.detail).toContain('client "foreign-app"');
    expect((await signUp(phone, byToken(revoked))).body.detail).toContain("not active");
  });

  it("is not introspected for a client without a secret", async () => {
    const token = await accessTokenOf(newEmail());
    const body = new URLSearchParams({ client_id: application.clientId, token });
    const answer = await fetch(`${issuer}/token/introspection`, { method: "POST", body });
    expect(await answer.json()).toEqual({ active: false });
  });
});

describe("a code with the original's three fields", () => {
  const codeOf = async (options: Parameters<typeof loginAtDevelopmentProvider>[0]) => {
    const { code: token, codeVerifier } = await loginAtDevelopmentProvider(options);
    return { method: "redirect_code_channel", token, ...(codeVerifier !== "" && { codeVerifier }) };
  };

  it("signs up and signs in where one client takes codes without a verifier", async () => {
    const phone = newPhone();
    const login = () => codeOf({ issuer, ...serverApp, email, pkce: false });
    const email = newEmail();
    const first = await login();
    expect(Object.keys(first)).toEqual(["method", "token"]);
    // As the original's clients do it: a challenge first, then the same code where there is no account yet.
    expect(await challenge(phone, first)).toMatchObject({ status: 400, body: { error: "PleaseRegisterKey" } });
    const signedUp = await signUp(phone, first);
    expect(signedUp.status, JSON.stringify(signedUp.body)).toBe(200);
    // Its ID tokens are without profile, as strict providers': the e-mail is of the userinfo endpoint.
    expect(await emailOf(signedUp.body.account.id)).toBe(email);
    expect(await challenge(phone, await login())).toMatchObject({ status: 200 });
  });

  it("with a verifier it is of the client with a default redirect URI", async () => {
    const login = await codeOf({ issuer, ...application, email: newEmail() });
    expect(await challenge(newPhone(), login)).toMatchObject({ status: 400, body: { error: "PleaseRegisterKey" } });
  });

  it("of a client that the request does not imply is 400 with a pointer to redirectUri, never 401", async () => {
    const phone = newPhone();
    const { token } = await codeOf({ issuer, ...application, email: newEmail() });
    const login = { method: "redirect_code_channel", token };
    for (const [answer, pointer] of [
      [await signUp(phone, login), "/redirectUri"],
      [await challenge(phone, login), "/request/redirectUri"],
      [await requestTwoFactor(phone, login), "/request/redirectUri"],
    ] as const) {
      expect(answer).toMatchObject({ status: 400, body: { error: "InvalidRequest" } });
      expect(answer.body.errors[0]).toEqual({
        pointer,
        detail: expect.stringContaining("send the login's redirectUri"),
      });
      expect(answer.body.errors[1]).toEqual({
        pointer: pointer.replace("redirectUri", "codeVerifier"),
        detail: "Required if the login used PKCE",
      });
      expect(answer.body.detail).not.toContain(serverApp.clientId);
      expect(answer.headers["www-authenticate"]).toBeUndefined();
    }
  });
});
