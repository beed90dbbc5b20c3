import { describe, expect, it } from "vitest";
import { read } from "../../security/token-forge.ts";
import { chainName, logIn, newEmail, newPhone, signUpPerson, tokenOf } from "../../support/person.ts";
import { expectProblem, send } from "../../support/raw-request.ts";
import { exchange } from "./exchange.ts";
import { operations } from "./openapi.ts";
import { once, userKeyOf } from "./people.ts";
import { problem, undocumented } from "./resources.ts";

const person = once(signUpPerson);
const plain = (method: string, path: string, headers = {}) => send({ method, path, headers });

describe("paths and verbs", () => {
  it("an unknown path is 404", async () => {
    const answer = await plain("GET", "/account/v1/nothing");
    expectProblem(answer, 404, "RouteNotFound");
    expect(undocumented(problem, answer.body)).toEqual([]);
  });

  it.each(Object.values(operations))(
    "$method $path by another verb is 405, with those that it knows",
    async ({ path }) => {
      const answer = await plain("PATCH", path.replace(/\{\w+\}/, "x"));
      expectProblem(answer, 405, "MethodNotAllowed");
      const known = Object.values(operations).filter((each) => each.path === path);
      const allowed = known.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
      expect(String(answer.headers.allow).split(", ").sort()).toEqual(allowed.sort());
    },
  );

  it("every path carries v1 after its area", () => {
    for (const { path } of Object.values(operations)) expect(path).toMatch(/^\/(?:auth|device|key|account|sign)\/v1\//);
  });
});

describe("requests", () => {
  it("a request id is taken when sane, else made", async () => {
    const own = "request-0001";
    expect((await plain("GET", "/", { "x-request-id": own })).headers["x-request-id"]).toBe(own);
    const made = (await plain("GET", "/", { "x-request-id": "not sane!" })).headers["x-request-id"];
    expect(made).toMatch(/^[\w.-]{8,64}$/);
    const refused = await plain("GET", "/account/v1/me", { "x-request-id": own });
    expect(refused.body.instance).toBe(own);
  });

  it("unknown fields are ignored, a missing and a wrong one are named", async () => {
    const phone = newPhone();
    const body = { ...(await logIn(newEmail())), chainName, userKey: userKeyOf(phone) };
    const { chainName: _, ...without } = body;
    const wrong = await exchange("signUp", { body: { ...without, userKey: { ...body.userKey, publicKey: 1 } } });
    expect(wrong.status).toBe(400);
    const pointers = wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(pointers.sort()).toEqual(["/chainName", "/userKey/publicKey"]);
    const newer = { ...body, future: { a: [1] }, userKey: { ...body.userKey, app: { appId: "x" }, future: true } };
    expect((await exchange("signUp", { body: newer })).status).toBe(200);
  });

  it("hex is read in either case and with 0x, and one form of a key is answered", async () => {
    const owner = await person();
    const { publicKey } = owner.deviceKey;
    const isOdd = Number.parseInt(publicKey.slice(-1), 16) % 2 === 1;
    const compressed = `${isOdd ? "03" : "02"}${publicKey.slice(0, 64)}`;
    for (const name of [publicKey.toUpperCase(), `0x${publicKey}`, `04${publicKey}`, compressed]) {
      const answer = await exchange("updateDevice", { token: tokenOf(owner), name, body: {} });
      expect(answer.body.device.publicKey).toBe(publicKey);
    }
  });

  it("a device may have an identity key of 32 bytes beside its account key", async () => {
    const [phone, identity] = [newPhone(), newPhone("EdDSA")];
    const { publicKey, algorithm } = identity.deviceKey;
    const userKey = userKeyOf(phone);
    const body = {
      ...(await logIn(newEmail())),
      chainName,
      userKey: { ...userKey, device: { ...userKey.device, publicKey, algorithm } },
    };
    const token = (await exchange("signUp", { body })).body.credentials.accessToken;
    const { devices } = (await exchange("listDevices", { token })).body;
    expect(devices).toMatchObject([{ publicKey, algorithm: "EdDSA" }]);
    const { keys } = (await exchange("listKeys", { token })).body;
    expect(keys).toMatchObject([{ publicKey: phone.deviceKey.publicKey, userKey: { device: { publicKey } } }]);
  });
});

describe("tokens", () => {
  it("access tokens are JWTs of RFC 9068 that live 15 minutes, refresh tokens live 30 days", async () => {
    const { client, signedUp, deviceKey } = await person();
    const { accessToken, refreshToken } = client.credentials!;
    const access = read(accessToken);
    const { keys } = (await plain("GET", "/.well-known/jwks.json")).body;
    expect(access.header).toMatchObject({ alg: "ES256", typ: "at+jwt" });
    expect(keys.map(({ kid }: { kid: string }) => kid)).toContain(access.header.kid);
    const key = { alg: "ES256", key: deviceKey.publicKey };
    expect(access.claims).toMatchObject({
      sub: signedUp.account.id,
      client_id: expect.any(String),
      sid: expect.any(String),
      jti: expect.any(String),
      scope: "full",
      session_key: key,
      account_key: key,
    });
    const life = ({ claims }: { claims: Record<string, unknown> }) => Number(claims.exp) - Number(access.claims.iat);
    expect(life(access)).toBe(15 * 60);
    // Its own time of issue is not written down: the two are minted one after the other.
    expect(Math.abs(life(read(refreshToken)) - 30 * 24 * 3600)).toBeLessThan(60);
  });

  it("the keys that verify them are published, the next one too, and nothing private", async () => {
    const { status, body } = await plain("GET", "/.well-known/jwks.json");
    expect(status).toBe(200);
    expect(body.keys.length).toBeGreaterThan(0);
    for (const key of body.keys) {
      expect(Object.keys(key).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
      expect(key).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" });
    }
  });
});

it("a challenge ends five minutes after its issue", async () => {
  const { client, login } = await person();
  const before = Date.now();
  const { expiresAt } = await client.requestChallenge({ login, chainName });
  const life = new Date(expiresAt).getTime() - before;
  expect(life).toBeGreaterThanOrEqual(300_000 - 1_000);
  expect(life).toBeLessThan(300_000 + 60_000);
});

it("the reference of the deployment opens", async () => {
  const { transaction } = (await person()).signedUp;
  expect(transaction.chainName).toBe(chainName);
  const answer = await fetch(transaction.refUrl);
  expect(answer.status).toBe(200);
});
