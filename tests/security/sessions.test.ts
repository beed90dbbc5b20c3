import { randomUUID } from "node:crypto";
import type { Credentials } from "@countersign/client";
import { beforeAll, describe, expect, it } from "vitest";
import { chainName, secondPhone, signUpPerson } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerKeyPair, newVictim, remember, type Victim } from "./attacker.ts";
import { secret } from "./secrets.ts";
import { mintAccessToken, part, query, read, realTokenKey, signJwt } from "./token-forge.ts";

let victim: Victim;
let other: Victim;
beforeAll(async () => {
  [victim, other] = await Promise.all([newVictim(), newVictim()]);
});

const refresh = (refreshToken: string, proof?: string) =>
  send({ method: "POST", path: "/auth/v1/token/refresh", body: { refreshToken, ...(proof && { proof }) } });

/** Opens a session; returns its tokens. */
async function newSession(whose: Victim) {
  const login = { method: "id_token_channel", token: whose.idToken } as const;
  const signedIn = await whose.client.signIn({ login, chainName });
  remember(signedIn);
  return signedIn.credentials;
}

async function next(refreshToken: string, proof?: string) {
  const answer = await refresh(refreshToken, proof);
  expect(answer.status, answer.text).toBe(200);
  remember(answer.body);
  return answer.body.credentials as { accessToken: string; refreshToken: string };
}

const meStatus = async (token: string) => (await send({ method: "GET", path: "/account/v1/me", token })).status;

describe("refresh tokens", () => {
  it("twenty concurrent uses get one successor", async () => {
    const { refreshToken } = await newSession(victim);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(refreshToken)));
    for (const answer of answers) expect(answer.status, answer.text).toBe(200);
    for (const { body } of answers) remember(body);
    expect(new Set(answers.map(({ body }) => read(body.credentials.refreshToken).claims.jti)).size).toBe(1);
  });

  it("a reused one ends the whole session, and its access tokens within two seconds", async () => {
    const first = await newSession(victim);
    const second = await next(first.refreshToken);
    const third = await next(second.refreshToken);
    expect(await meStatus(third.accessToken)).toBe(200);
    expectProblem(await refresh(first.refreshToken), 401, "RefreshTokenReused");
    for (const { refreshToken } of [first, second, third]) {
      expectProblem(await refresh(refreshToken), 401, "SessionEnded");
    }
    for (const { accessToken } of [first, second, third]) {
      await expect.poll(() => meStatus(accessToken), { timeout: 2_000, interval: 50 }).toBe(401);
    }
  });

  it("a concurrent use of the old and the new one never leaves two valid successors", async () => {
    const first = await newSession(victim);
    const second = await next(first.refreshToken);
    await next(second.refreshToken);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => refresh([first, second][i % 2]!.refreshToken)),
    );
    for (const answer of answers) if (answer.status === 200) remember(answer.body);
    expect(answers.some(({ body }) => body.error === "RefreshTokenReused")).toBe(true);
    const { sid } = read(first.refreshToken).claims;
    expect(await query("auth", "SELECT ended_cause FROM session WHERE id = $1", [sid])).toEqual([
      { ended_cause: "refresh-token-reused" },
    ]);
  });

  it("does not outlive its session", async () => {
    const mine = await newSession(victim);
    await send({ method: "POST", path: "/auth/v1/signout", token: mine.accessToken });
    expectProblem(await refresh(mine.refreshToken), 401, "SessionEnded");
  });

  it("one session's does not affect another session", async () => {
    const person = await signUpPerson();
    const phone = await secondPhone(person);
    const [one, two] = [person, phone].map(({ client }) => client.credentials!) as [Credentials, Credentials];
    const used = await next(one.refreshToken);
    await next(used.refreshToken);
    expectProblem(await refresh(one.refreshToken), 401, "RefreshTokenReused");
    await next(two.refreshToken);
  });

  it("a wrong proof is refused and ends nothing; once proven, always proven", async () => {
    const first = await newSession(victim);
    const message = (token: string) => Buffer.from(`countersign-token-refresh\n${token}`);
    const prove = async (token: string, by: Victim) =>
      secret("proof", Buffer.from(await by.deviceKey.sign(message(token))).toString("hex"));
    expectProblem(await refresh(first.refreshToken, "ab".repeat(64)), 401, "InvalidSignature");
    expectProblem(await refresh(first.refreshToken, await prove(first.refreshToken, other)), 401, "InvalidSignature");
    const second = await next(first.refreshToken, await prove(first.refreshToken, victim));
    expectProblem(await refresh(second.refreshToken), 401, "RefreshProofRequired");
    const old = await prove(first.refreshToken, victim);
    expectProblem(await refresh(second.refreshToken, old), 401, "InvalidSignature");
    await next(second.refreshToken, await prove(second.refreshToken, victim));
  });

  it.each<[string, (good: string) => Promise<string>]>([
    ["an access token", async () => victim.signedUp.credentials.accessToken],
    ["an ID token", async () => victim.idToken],
    ["the audience of access tokens", (good) => resigned(good, {}, { aud: "countersign" })],
    ["another issuer", (good) => resigned(good, {}, { iss: "https://evil.example" })],
    ["typ of an access token", (good) => resigned(good, { typ: "at+jwt" })],
    ["no typ", (good) => resigned(good, { typ: undefined })],
    ["an unknown key id", (good) => resigned(good, { kid: randomUUID() })],
    ["a critical extension", (good) => resigned(good, { crit: ["evil"], evil: 1 })],
    ["alg none", async (good) => `${part({ ...read(good).header, alg: "none" })}.${good.split(".")[1]}.`],
    ["no end", (good) => resigned(good, {}, { exp: undefined })],
    ["not valid yet", (good) => resigned(good, {}, { nbf: Math.floor(Date.now() / 1000) + 300 })],
    ["a session that is no id", (good) => resigned(good, {}, { sid: "' OR 1=1" })],
    ["an id that is none", (good) => resigned(good, {}, { jti: "x" })],
    [
      "a key of the attacker's",
      async (good) => signJwt(read(good).header, read(good).claims, attackerKeyPair().privateKey),
    ],
    [
      "an edited payload",
      async (good) => {
        const [header, , signature] = good.split(".");
        return `${header}.${part({ ...read(good).claims, exp: 9_999_999_999 })}.${signature}`;
      },
    ],
    ["an edited signature", async (good) => good.slice(0, -10) + (good.at(-10) === "A" ? "B" : "A") + good.slice(-9)],
    ["no signature", async (good) => good.slice(0, good.lastIndexOf(".") + 1)],
    ["garbage", async () => "garbage"],
  ])("%s is none, and the good one still works", async (_, make) => {
    const { refreshToken } = await newSession(victim);
    expectProblem(await refresh(await make(refreshToken)), 401, "InvalidRefreshToken");
    await next(refreshToken);
  });
});

it.each<[string, (good: string) => Promise<string>]>([
  ["expired", (good) => resigned(good, {}, { exp: Math.floor(Date.now() / 1000) - 60 })],
  ["of a session whose row is gone", (good) => resigned(good, {}, { sid: randomUUID() })],
])("a validly signed refresh token that is %s names an ended session, and ends no other", async (_, make) => {
  const { refreshToken } = await newSession(victim);
  expectProblem(await refresh(await make(refreshToken)), 401, "SessionEnded");
  await next(refreshToken);
});

async function resigned(good: string, header: Record<string, unknown>, claims: Record<string, unknown> = {}) {
  const { privateKey } = await realTokenKey();
  const known = read(good);
  return signJwt({ ...known.header, ...header }, { ...known.claims, ...claims }, privateKey);
}

describe("resources of another account", () => {
  const snapshot = async () => {
    const token = await mintAccessToken(other);
    const read = async (path: string) => (await send({ method: "GET", path, token })).body;
    const devices = await read("/device/v1/devices");
    const keys = await read("/key/v1/keys?include_revoked=true");
    const sessions = await query("auth", "SELECT id, ended_at FROM session WHERE account_id = $1 ORDER BY id", [
      other.accountId,
    ]);
    return { devices, keys, sessions };
  };

  it.each<[string, (theirs: Awaited<ReturnType<typeof snapshot>>) => Parameters<typeof send>[0], string]>([
    [
      "a device, to change",
      () => ({ method: "PUT", path: `/device/v1/devices/${other.deviceKey.publicKey}`, body: { name: "mine" } }),
      "DeviceNotFound",
    ],
    [
      "a device, to redirect its pushes",
      () => ({ method: "PUT", path: `/device/v1/devices/${other.deviceKey.publicKey}`, body: { pushToken: "mine" } }),
      "DeviceNotFound",
    ],
    [
      "a device with its own id",
      ({ devices }) => ({
        method: "PUT",
        path: `/device/v1/devices/${other.deviceKey.publicKey}`,
        body: { id: devices.devices[0].id, name: "mine" },
      }),
      "DeviceNotFound",
    ],
    [
      "a device, to remove",
      () => ({ method: "DELETE", path: `/device/v1/devices/${other.deviceKey.publicKey}` }),
      "DeviceNotFound",
    ],
    [
      "a device by its id",
      ({ devices }) => ({ method: "DELETE", path: `/device/v1/devices/${devices.devices[0].id}` }),
      "InvalidPublicKey",
    ],
    [
      "a session, to end",
      ({ sessions }) => ({ method: "DELETE", path: `/auth/v1/sessions/${(sessions[0] as { id: string }).id}` }),
      "SessionNotFound",
    ],
    [
      "a key, to report as revoked",
      () => ({ method: "DELETE", path: `/key/v1/keys/${other.deviceKey.publicKey}?txId=${"ab".repeat(32)}` }),
      "KeyNotFound",
    ],
  ])("%s is not found, and unchanged", async (_, make, error) => {
    const before = await snapshot();
    const answer = await send({ ...make(before), token: await mintAccessToken(victim) });
    expectProblem(answer, [404, 400, 501], [error, "NotImplemented"]);
    expect(await snapshot()).toEqual(before);
  });

  it("a device cannot take another device's id", async () => {
    const { devices } = await snapshot();
    const path = `/device/v1/devices/${victim.deviceKey.publicKey}`;
    const body = { id: devices.devices[0].id, name: "mine" };
    expectProblem(
      await send({ method: "PUT", path, body, token: await mintAccessToken(victim) }),
      400,
      "InvalidRequest",
    );
  });

  it("ending all other sessions ends none of another account", async () => {
    const before = await snapshot();
    const mine = await newSession(victim);
    expect((await send({ method: "DELETE", path: "/auth/v1/sessions", token: mine.accessToken })).status).toBe(204);
    expect(await snapshot()).toEqual(before);
  });

  it("sessions and devices of other accounts are not listed", async () => {
    const token = await mintAccessToken(victim);
    for (const path of ["/auth/v1/sessions", "/device/v1/devices", "/key/v1/keys", "/account/v1/me"]) {
      const { status, text } = await send({ method: "GET", path, token });
      expect(status).toBe(200);
      expect(text).not.toContain(other.accountId);
      expect(text).not.toContain(other.deviceKey.publicKey);
    }
  });
});

afterwards();
