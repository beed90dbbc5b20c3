import { createPrivateKey, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Login } from "@countersign/client";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { createPhone, type Person, type Phone, signUp } from "@countersign/testing";
import { SignJWT } from "jose";

/** A person with a fresh login at the development provider, who has not signed up. */
export interface LoggedIn extends Phone {
  readonly login: Login;
}

/** A person who has signed up. */
export type Resident = LoggedIn & Pick<Person, "address">;

/**
 * Returns a function that mints ID tokens as the development provider would, with its key: a thousand logins
 * through its pages would take longer than the benchmark.
 */
export function createLogins(stack: Stack): (count: number) => Promise<LoggedIn[]> {
  const { jwks } = JSON.parse(readFileSync(join(stack.stateDir, "identity-provider", "keys.json"), "utf8"));
  const jwk = jwks.keys[0];
  const key = createPrivateKey({ format: "jwk", key: jwk });
  const { issuer, clients } = stack.identityProvider;
  const logIn = async (): Promise<LoggedIn> => {
    const phone = createPhone(stack);
    const { loginNonce } = phone.client;
    const sub = randomUUID();
    const token = await new SignJWT({
      nonce: loginNonce,
      email: `${sub}@example.com`,
      email_verified: true,
      name: "Bench",
    })
      .setProtectedHeader({ alg: "RS256", kid: jwk.kid })
      .setIssuer(issuer)
      .setAudience(clients[0]!.clientId)
      .setSubject(sub)
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(key);
    return { ...phone, login: { method: "id_token_channel", token, nonce: loginNonce } };
  };
  return (count) => Promise.all(Array.from({ length: count }, logIn));
}

/** Signs people up, all at the same time. */
export function signUpAll(stack: Stack, people: readonly LoggedIn[]): Promise<Resident[]> {
  return Promise.all(people.map((person) => signUp(stack, person, person.login)));
}
