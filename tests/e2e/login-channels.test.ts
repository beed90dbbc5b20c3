import { loginAtDevelopmentProvider } from "@countersign/client/node";
import { SERVER_APP_CLIENT } from "@countersign/dev/identity-provider.ts";
import { describe, expect, it } from "vitest";
import { application, call, chainName, newEmail, newPhone, type Phone, stack } from "./person.ts";

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
    // As the original's clients do it: a challenge first, and the same code again where there is no account yet.
    expect(await challenge(phone, first)).toMatchObject({ status: 400, body: { error: "PleaseRegisterKey" } });
    const signedUp = await signUp(phone, first);
    expect(signedUp.status, JSON.stringify(signedUp.body)).toBe(200);
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
      expect(answer.headers.get("www-authenticate")).toBeNull();
    }
  });
});
