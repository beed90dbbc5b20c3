import { createPrivateKey, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CountersignClient, type Login } from "@countersign/client";
import { generateDeviceKey, type NodeDeviceKey } from "@countersign/client/node";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { SignJWT } from "jose";

/** Somebody with a fresh login at the development provider. */
export interface Newcomer {
  deviceKey: NodeDeviceKey;
  login: Login;
}

/** Somebody who has signed up. */
export interface Resident extends Newcomer {
  client: CountersignClient;
  /** 16 hex digits. */
  address: string;
}

/**
 * Mints ID tokens as the development provider would, with its own key: a thousand logins through its pages would take longer than the benchmark,
 * and are not what is measured.
 */
export function createLogins(stack: Stack): (count: number) => Promise<Newcomer[]> {
  const { jwks } = JSON.parse(readFileSync(join(stack.stateDir, "identity-provider", "keys.json"), "utf8"));
  const jwk = jwks.keys[0];
  const key = createPrivateKey({ format: "jwk", key: jwk });
  const { issuer, clients } = stack.identityProvider;
  const logIn = async (): Promise<Newcomer> => {
    const deviceKey = generateDeviceKey();
    const { loginNonce } = new CountersignClient({ baseUrl: stack.gateway, deviceKey });
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
    return { deviceKey, login: { method: "id_token_channel", token, nonce: loginNonce } };
  };
  return (count) => Promise.all(Array.from({ length: count }, logIn));
}

/** Signs newcomers up, all at once. */
export function settle(stack: Stack, newcomers: readonly Newcomer[]): Promise<Resident[]> {
  const { chainName } = stack.chains[0]!;
  return Promise.all(
    newcomers.map(async (newcomer) => {
      const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey: newcomer.deviceKey });
      const { account } = await client.signUp({ login: newcomer.login, chainName });
      const address = account.addresses.find(({ chainType }) => chainType === "cadence")!.address.slice(2);
      return { ...newcomer, client, address };
    }),
  );
}
