import type { Login } from "@countersign/client";
import { uuidv7 } from "@countersign/core";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import type { Victim } from "../../security/attacker.ts";
import { mintAccessToken, query, read } from "../../security/token-forge.ts";
import { chainName, logIn, newEmail, newPhone, type Person, type Phone, stack, tokenOf } from "../../support/person.ts";
import { type Answer, exchange } from "./exchange.ts";

/** All attributes that a device may send at sign-up. */
export const attributes = {
  pushToken: "push-1",
  name: "Ada's phone",
  osName: "Android",
  osVersion: "16",
  deviceManufacturer: "Maker",
  deviceModel: "Model",
  lang: "en-GB",
  type: "mobile",
} as const;

/** Returns the user key of a phone in the form of request bodies. */
export const userKeyOf = ({ deviceKey: { publicKey, algorithm } }: Phone) => ({
  type: "device",
  publicKey,
  algorithm,
  device: { ...attributes, publicKey, algorithm },
});

/** Returns a victim's login with every field. */
export const loginOf = ({ idToken, nonce }: Victim) => ({
  method: "id_token_channel",
  token: idToken,
  provider: "dev",
  redirectUri: "",
  codeVerifier: "",
  nonce,
});

/** Returns a victim's device with every field. */
export const fullDeviceOf = ({ deviceKey: { publicKey } }: Victim) => ({
  publicKey,
  algorithm: "ES256",
  pushToken: "",
  name: "Phone",
  osName: "OS",
  osVersion: "1",
  deviceManufacturer: "M",
  deviceModel: "X",
  lang: "en",
  type: "mobile",
  sdkVersion: "1",
});

/** Returns a victim's user key and device with every field. */
export const fullUserKeyOf = (victim: Victim) => ({
  type: "device",
  publicKey: victim.deviceKey.publicKey,
  algorithm: "ES256",
  device: fullDeviceOf(victim),
});

/** Returns a function that calls `make` once, when the result is first needed. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

export const accountIdOf = ({ signedUp }: Person): string => signedUp.account.id;

/** Returns the request of a new phone to be enrolled. */
export const enrollmentBody = async (email: string, phone: Phone) => ({
  request: { ...(await logIn(email)), chainName },
  userKey: userKeyOf(phone),
});

/** A phone whose enrollment is pending. */
export interface EnrollingPhone extends Phone {
  answer: Answer;
  /** TwoFactorAuth.id. */
  id: string;
  requestId: string;
  message: string;
  ephemeral: string;
}

export async function requestEnrollment(of: Person, phone: Phone = newPhone()): Promise<EnrollingPhone> {
  const answer = await exchange("requestTwoFactor", { body: await enrollmentBody(of.email, phone) });
  const { twoFactorAuth, ephemeralAccessToken: ephemeral } = answer.body;
  const { id, message } = twoFactorAuth.request;
  return { ...phone, answer, id: twoFactorAuth.id, requestId: id, message, ephemeral };
}

/** Returns a phone's signature over a message; both are hex. */
export const signed = async ({ deviceKey }: Phone, message: string): Promise<string> =>
  bytesToHex(await deviceKey.sign(hexToBytes(message)));

/** Approves with the person's signature over the message. */
export const approve = async (by: Person, { id, message }: Pick<EnrollingPhone, "id" | "message">): Promise<Answer> =>
  exchange("approveTwoFactor", { token: tokenOf(by), name: id, body: { signature: await signed(by, message) } });

/** Runs `work` while this address has no requests left in the current minute. */
export async function exhausted<T>(
  limit: "sign-up" | "challenge" | "respond" | "two-factor" | "refresh",
  work: () => Promise<T>,
): Promise<T> {
  const key = `${limit}:127.0.0.1`;
  await query(
    "auth",
    `INSERT INTO rate_limit (key, points, expire) VALUES ($1, 1000000, $2)
     ON CONFLICT (key) DO UPDATE SET points = 1000000, expire = $2`,
    [key, Date.now() + 60_000],
  );
  try {
    return await work();
  } finally {
    await query("auth", "DELETE FROM rate_limit WHERE key = $1", [key]);
  }
}

/** Creates an account that is on no chain yet, as a sign-up does before the chain has answered. */
export async function undeployed(): Promise<Phone & { login: Login; token: string }> {
  const phone = newPhone();
  const email = newEmail();
  const login = await logIn(email);
  const accountId = uuidv7({ now: () => new Date() });
  await query("account", "INSERT INTO account VALUES ($1, '', now(), now())", [accountId]);
  await query(
    "auth",
    `INSERT INTO identity (issuer, subject, account_id, email, name, picture, created_at)
     VALUES ($1, $2, $3, $4, '', '', now())`,
    [stack.identityProvider.issuer, read(login.token).claims.sub, accountId, email],
  );
  const token = await mintAccessToken({ accountId, deviceKey: phone.deviceKey });
  return { ...phone, login, token };
}
