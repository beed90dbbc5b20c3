import { generateKeyPairSync } from "node:crypto";
import type { SignedIn } from "@countersign/client";
import { exchangeCode, loginAtDevelopmentProvider, type Person, signUp } from "@countersign/testing";
import { describe, expect, it } from "vitest";
import { application, chainName, newEmail, newPhone, type Phone, stack } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { secret, secretKey, secretsInLogs } from "./secrets.ts";
import { mintAccessToken, query } from "./token-forge.ts";

/** A person who has signed up; all of the person's secrets are in the register. */
export interface Victim extends Omit<Person, "login"> {
  idToken: string;
  nonce: string;
  accountId: string;
}

const victims: Victim[] = [];

/** Logs in at the development provider; returns the ID token and the provider's access token. */
export async function idTokenOf(
  email: string,
  nonce?: string,
  client?: OpenIdClient,
): Promise<{ idToken: string; accessToken: string; nonce: string }> {
  const { issuer } = stack.identityProvider;
  const code = await codeOf(email, nonce, client);
  const { idToken, accessToken } = await exchangeCode(issuer, code);
  secret("provider's access token", accessToken);
  return { idToken: secret("ID token", idToken), accessToken, nonce: code.nonce };
}

type OpenIdClient = { clientId: string; redirectUri: string };

/** Logs in at the development provider; returns the authorization code. */
export async function codeOf(email: string, nonce?: string, client: OpenIdClient = application) {
  const { issuer } = stack.identityProvider;
  const options = { issuer, ...client, email: secret("e-mail", email), ...(nonce !== undefined && { nonce }) };
  const code = await loginAtDevelopmentProvider(options);
  secret("code", code.code);
  secret("code verifier", code.codeVerifier);
  return code;
}

/** Registers both tokens of an answer as secrets. */
export function remember({ credentials }: Pick<SignedIn, "credentials">): void {
  for (const token of Object.values(credentials)) {
    secret("token", token);
    secret("token's signature", token.split(".")[2]!);
  }
}

/** Creates a phone whose private key is in the register. */
export function attackerPhone(...algorithm: Parameters<typeof newPhone>): Phone {
  const phone = newPhone(...algorithm);
  secretKey(phone.deviceKey.toJwk());
  return phone;
}

/** Signs a person up through the client package. */
export async function newVictim(phone: Phone = attackerPhone()): Promise<Victim> {
  const email = newEmail();
  const { idToken, nonce } = await idTokenOf(email);
  const login = { method: "id_token_channel", token: idToken } as const;
  const signedUpPhone = await signUp(stack, phone, login, { name: "Victim's phone" });
  const { signedUp } = signedUpPhone;
  remember(signedUp);
  const victim = { ...signedUpPhone, email, idToken, nonce, accountId: signedUp.account.id };
  victims.push(victim);
  return victim;
}

/** Creates a P-256 key pair for the attacker. */
export const attackerKeyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Adds a file's last tests: the attacks changed nothing, and no secret was logged. */
export function afterwards({ expectedDevices = () => 1 }: { expectedDevices?: (victim: Victim) => number } = {}): void {
  // Other files of the stack may leave sign-ups that an administrator has to continue.
  const begun = new Date();
  describe("afterwards", () => {
    it("every account has its one device and its one key", async () => {
      for (const victim of victims) {
        const token = await mintAccessToken(victim);
        const devices = await send({ method: "GET", path: "/device/v1/devices", token });
        expect(devices.body.devices).toHaveLength(expectedDevices(victim));
        const keys = await send({ method: "GET", path: "/key/v1/keys", token });
        expect(keys.body.keys).toHaveLength(1);
        expect(keys.body.keys[0].publicKey).toBe(victim.deviceKey.publicKey);
        const me = await send({ method: "GET", path: "/account/v1/me", token });
        expect(me.body.account.addresses).toEqual(victim.signedUp.account.addresses);
      }
    });

    it("every sign-up is complete and every event is published", { timeout: 60_000 }, async () => {
      const open = async () => {
        const unfinished = "SELECT account_id FROM sign_up WHERE completed_at IS NULL AND created_at > $1";
        const sagas = await query("auth", unfinished, [begun]);
        const services = ["auth", "device", "key", "account", "signer"];
        const unsent = "SELECT id FROM outbox WHERE created_at < now() - interval '2 seconds'";
        const events = await Promise.all(services.map((service) => query(service, unsent)));
        return [...sagas, ...events.flat()];
      };
      // Another process takes over an interrupted sign-up when its lease of 30 s is over.
      await expect.poll(open, { timeout: 50_000, interval: 200 }).toEqual([]);
    });

    it("the stack still works: a person signs up and signs in", async () => {
      const { client, idToken, accountId } = await newVictim();
      const login = { method: "id_token_channel", token: idToken } as const;
      const signedIn = await client.signIn({ login, chainName });
      remember(signedIn);
      expect(signedIn.account.id).toBe(accountId);
    });

    it("no log holds a secret", () => {
      const { looked, found } = secretsInLogs();
      expect(found).toEqual([]);
      expect(looked).toBeGreaterThan(5);
    });
  });
}
