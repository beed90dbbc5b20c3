import { generateKeyPairSync } from "node:crypto";
import { request as httpRequest } from "node:http";
import type { SignedIn } from "@countersign/client";
import { exchangeCode, loginAtDevelopmentProvider } from "@countersign/client/node";
import { describe, expect, it } from "vitest";
import { application, chainName, newEmail, newPhone, type Phone, stack } from "../e2e/person.ts";
import { secret, secretKey, secretsInLogs } from "./secrets.ts";
import { mintAccessToken, query } from "./token-forge.ts";

/** A person who has signed up; all of the person's secrets are in the register. */
export interface Victim extends Phone {
  email: string;
  idToken: string;
  nonce: string;
  signedUp: SignedIn;
  /** 16 hex digits. */
  address: string;
  accountId: string;
}

const victims: Victim[] = [];
const gateway = new URL(stack.gateway);

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
  const signedUp = await phone.client.signUp({ login, chainName, device: { name: "Victim's phone" } });
  remember(signedUp);
  const address = signedUp.account.addresses.find((entry) => entry.chainType === "cadence")!.address.slice(2);
  const victim = { ...phone, email, idToken, nonce, signedUp, address, accountId: signedUp.account.id };
  victims.push(victim);
  return victim;
}

/** An answer without any processing, and the time that it took. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: documents of every route
  body: any;
  ms: number;
}

export interface RawRequest {
  method: string;
  path: string;
  token?: string | undefined;
  /** Sent as it is; an object is sent as JSON. */
  body?: unknown;
  /** Values may be arrays: one header line each. */
  headers?: Record<string, string | string[]>;
  /** Chunked instead of with a length. */
  chunked?: boolean;
}

/** Sends a request as it is; `fetch` would correct or refuse some of them. */
export function send({ method, path, token, body, headers = {}, chunked }: RawRequest): Promise<RawAnswer> {
  const bytes =
    body === undefined ? undefined : Buffer.isBuffer(body) || typeof body === "string" ? body : JSON.stringify(body);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        host: "127.0.0.1",
        port: gateway.port,
        method,
        path,
        agent: false,
        timeout: 35_000,
        headers: {
          host: gateway.host,
          ...(bytes === undefined ? {} : { "content-type": "application/json" }),
          ...(bytes === undefined || chunked ? {} : { "content-length": Buffer.byteLength(bytes) }),
          ...(chunked ? { "transfer-encoding": "chunked" } : {}),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      async (incoming) => {
        const chunks: Buffer[] = [];
        // A stream of events does not end by itself: that it was opened is the answer.
        const endless = /^text\/event-stream/.test(incoming.headers["content-type"] ?? "");
        if (endless) incoming.destroy();
        try {
          if (!endless) for await (const chunk of incoming) chunks.push(chunk);
        } catch (error) {
          return reject(error);
        }
        const text = Buffer.concat(chunks).toString();
        const json = /json/.test(incoming.headers["content-type"] ?? "") && text !== "";
        resolve({
          status: incoming.statusCode!,
          headers: incoming.headers,
          text,
          body: json ? JSON.parse(text) : undefined,
          ms: performance.now() - started,
        });
      },
    );
    outgoing.on("error", reject).on("timeout", () => outgoing.destroy(new Error("no answer in 35 s")));
    outgoing.end(bytes);
  });
}

const INTERNALS = /node_modules|\bat [\w.<>]+ \(|\.ts:\d|prisma|postgres|ECONN|grpc|127\.0\.0\.1|stack trace/i;

/** Expects a complete problem document with this status and error that contains no secret. */
export function expectProblem(answer: RawAnswer, status: number | number[], error?: string | string[]): void {
  const statuses = [status].flat();
  expect(statuses, answer.text).toContain(answer.status);
  expect(answer.headers["content-type"]).toMatch(/^application\/problem\+json/);
  expect(answer.body).toMatchObject({
    type: `urn:countersign:error:${answer.body.error}`,
    title: expect.stringMatching(/./),
    status: answer.status,
    detail: expect.stringMatching(/./),
    instance: answer.headers["x-request-id"],
    error: expect.stringMatching(/^[A-Z]\w+$/),
  });
  expect(answer.headers["x-request-id"]).toMatch(/^[\w.-]{8,64}$/);
  for (const each of answer.body.errors ?? []) {
    expect(each).toEqual({ pointer: expect.any(String), detail: expect.stringMatching(/./) });
  }
  expect(answer.text).not.toMatch(INTERNALS);
  if (error !== undefined) expect([error].flat(), answer.text).toContain(answer.body.error);
  // Only if the access token was the problem; SessionEnded may be about a refresh token.
  const aboutToken = ["Unauthenticated", "InvalidAccessToken", "AccessTokenExpired", "InsufficientScope"];
  const challenge = answer.headers["www-authenticate"];
  if (aboutToken.includes(answer.body.error)) expect(challenge).toMatch(/^Bearer realm="countersign"/);
  else if (answer.body.error !== "SessionEnded") expect(challenge, answer.text).toBeUndefined();
  if (answer.status === 429) expect(answer.headers["retry-after"]).toMatch(/^\d+$/);
}

/** Creates a P-256 key pair for the attacker. */
export const attackerKeyPair = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Adds a file's last tests: the attacks changed nothing, and no secret was logged. */
export function afterwards({ expectedDevices = () => 1 }: { expectedDevices?: (victim: Victim) => number } = {}): void {
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

    it("every sign-up is complete and every event is published", async () => {
      const open = async () => {
        const sagas = await query("auth", "SELECT account_id FROM sign_up WHERE completed_at IS NULL");
        const services = ["auth", "device", "key", "account", "signer"];
        const unsent = "SELECT id FROM outbox WHERE published_at IS NULL AND created_at < now() - interval '2 seconds'";
        const events = await Promise.all(services.map((service) => query(service, unsent)));
        return [...sagas, ...events.flat()];
      };
      await expect.poll(open, { timeout: 20_000, interval: 200 }).toEqual([]);
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
