import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { FixedClock } from "@countersign/core/testing";
import { exportJWK, generateKeyPair as generateTokenKey, type JWTHeaderParameters, SignJWT } from "jose";
import type { ProviderClient } from "../clients/providers-file.ts";

import type { ExchangedCodeStore, ExchangedLogin, Login } from "../domain/login.ts";

export const client = (change: Partial<ProviderClient> = {}): ProviderClient => ({
  clientId: "wallet",
  clientSecret: undefined,
  appId: "wallet",
  appName: "Wallet",
  keyBinding: "optional",
  allowCodeWithoutVerifier: false,
  redirectUris: ["https://wallet.example/callback"],
  defaultRedirectUri: undefined,
  ...change,
});

export const clock = new FixedClock("2026-11-20T10:00:00Z");
export const now = Math.floor(clock.now().getTime() / 1000);
/** Whom the fake provider's tokens are about. */
export const SUBJECT = "somebody";

export interface FakeAnswer {
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  /** Text is sent as it is. */
  body?: unknown;
}

/** Returns a provider on a free port that counts what is asked of it. */
export async function fakeProvider() {
  const { publicKey, privateKey } = await generateTokenKey("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256", use: "sig" };
  const requests: string[] = [];
  const lastForms = new Map<string, Record<string, string>>();
  let authorization = "";
  let keysPath = "/jwks";
  let keysAreAway = false;
  /** Answers of the userinfo and introspection endpoints, by their paths. */
  const answers = new Map<string, () => FakeAnswer>();
  let codeAnswer: () => object | Promise<object> = () => ({ error: "invalid_grant" });
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send = (body: object, status = 200) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (path === "/.well-known/openid-configuration") {
      return send({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}${keysPath}`,
        userinfo_endpoint: `${issuer}/userinfo`,
        introspection_endpoint: `${issuer}/introspect`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["ES256"],
      });
    }
    if (path === keysPath) return keysAreAway ? send({}, 503) : send({ keys: [jwk] });
    if (path === "/token") {
      lastForms.set(path, Object.fromEntries(new URLSearchParams(await text(request))));
      const answer = await codeAnswer();
      return send(answer, "error" in answer ? 400 : 200);
    }
    const answer = answers.get(path);
    if (answer) {
      lastForms.set(path, Object.fromEntries(new URLSearchParams(await text(request))));
      authorization = request.headers.authorization ?? "";
      const { status = 200, type = "application/json", headers = {}, body = {} } = answer();
      return response
        .writeHead(status, { "content-type": type, ...headers })
        .end(typeof body === "string" ? body : JSON.stringify(body));
    }
    return send({}, 404);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const idToken = (claims: object = {}, header: Partial<JWTHeaderParameters> = {}) =>
    new SignJWT({
      iss: issuer,
      aud: "wallet",
      sub: SUBJECT,
      iat: now,
      exp: now + 300,
      email: "a@example.com",
      ...claims,
    })
      .setProtectedHeader({ alg: "ES256", kid: "k1", ...header })
      .sign(privateKey);
  return {
    /** The keys are at another place from now on. */
    moveKeys: (path: string) => {
      keysPath = path;
    },
    issuer,
    jwk,
    requests,
    lastForms,
    lastAuthorization: () => authorization,
    answer: (path: "/userinfo" | "/introspect", make: () => FakeAnswer) => answers.set(path, make),
    idToken,
    answerCodes: (answer: typeof codeAnswer) => {
      codeAnswer = answer;
    },
    takeKeysAway: (away: boolean) => {
      keysAreAway = away;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** Remembers codes as the database does, without its locks. */
export function rememberedCodes(): ExchangedCodeStore {
  const known = new Map<string, { binding: string; keys: readonly string[]; login: ExchangedLogin }>();
  return {
    async once(codeHash, { binding, keys }, exchange) {
      const found = known.get(codeHash);
      if (!found) {
        const login = await exchange();
        known.set(codeHash, { binding, keys, login });
        return login;
      }
      const unbound = found.keys.length === 0 || keys.length === 0;
      if (found.binding === binding && (unbound || found.keys.some((each) => keys.includes(each)))) {
        if (found.keys.length === 0) known.set(codeHash, { ...found, keys });
        return found.login;
      }
      known.delete(codeHash);
      return undefined;
    },
  };
}

export const login = (change: Partial<Login>): Login => ({
  method: "id_token_channel",
  token: "",
  provider: "",
  redirectUri: "",
  codeVerifier: "",
  nonce: "",
  ...change,
});
