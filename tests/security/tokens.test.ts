import { createHmac, createPublicKey, randomUUID, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { stack } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerKeyPair, newVictim, remember, type Victim } from "./attacker.ts";
import { HOSTILE_ROUTES, hostileRoute } from "./routes.ts";
import { goodClaims, mintAccessToken, part, read, realTokenKey, signJwt, type TokenKey } from "./token-forge.ts";

let victim: Victim;
let real: TokenKey;
let identityKey: TokenKey;
let identityToken: string;
beforeAll(async () => {
  victim = await newVictim();
  real = await realTokenKey();
  identityKey = await realTokenKey("identity_key");
  ({ identityToken } = await victim.client.identityToken({ nonce: "n" }));
});

const now = () => Math.floor(Date.now() / 1000);
const claims = (changes: Record<string, unknown> = {}) => ({ ...goodClaims(victim), ...changes });
const header = (changes: Record<string, unknown> = {}) => ({ alg: "ES256", typ: "at+jwt", kid: real.kid, ...changes });
/** Creates a token that the real key has signed. */
const signed = (claimChanges: Record<string, unknown> = {}, headerChanges: Record<string, unknown> = {}) =>
  signJwt(header(headerChanges), claims(claimChanges), real.privateKey);
const without = (name: string) => {
  const { [name]: _, ...rest } = claims();
  return signJwt(header(), rest, real.privateKey);
};
const input = (headerChanges: Record<string, unknown> = {}) => `${part(header(headerChanges))}.${part(claims())}`;
const publicKey = () => createPublicKey({ key: real.publicJwk, format: "jwk" });
const hmac = (secret: string | Buffer, alg = "HS256") => {
  const text = input({ alg });
  return `${text}.${createHmac(alg.replace("HS", "sha"), secret).update(text).digest("base64url")}`;
};
const attacker = attackerKeyPair();
const attackerJwk = attacker.publicKey.export({ format: "jwk" });
/** Creates a token that the attacker signed, with the attacker's key in its header. */
const own = (headerChanges: Record<string, unknown>) => signJwt(header(headerChanges), claims(), attacker.privateKey);

/** Each differs from a valid token in one respect. */
const BAD_TOKENS: [string, () => string][] = [
  ["another issuer", () => signed({ iss: "https://evil.example" })],
  ["an issuer with a slash more", () => signed({ iss: `${stack.gateway}/` })],
  ["a list of issuers", () => signed({ iss: [stack.gateway] })],
  ["no issuer", () => without("iss")],
  ["the identity provider as issuer", () => signed({ iss: stack.identityProvider.issuer })],
  ["another audience", () => signed({ aud: "someone-else" })],
  ["the audience of refresh tokens", () => signed({ aud: "countersign-refresh" })],
  ["a list of audiences", () => signed({ aud: ["countersign", "someone-else"] })],
  ["no audience", () => without("aud")],
  ["no end", () => without("exp")],
  ["an end in text", () => signed({ exp: String(now() + 900) })],
  ["an end in a fraction", () => signed({ exp: now() + 900.5 })],
  ["an end far away", () => signed({ exp: now() + 86_400 })],
  ["an end before its beginning", () => signed({ iat: now() - 10, exp: now() - 20 })],
  ["a beginning in the future", () => signed({ iat: now() + 120, exp: now() + 900 })],
  ["not valid before the future", () => signed({ nbf: now() + 120 })],
  ["not valid before a text", () => signed({ nbf: "tomorrow" })],
  ["no beginning", () => without("iat")],
  ["a subject that is no id", () => signed({ sub: "admin" })],
  ["no subject", () => without("sub")],
  ["a session that is no id", () => signed({ sid: "' OR 1=1" })],
  ["no session", () => without("sid")],
  ["no scope", () => without("scope")],
  ["an unknown scope", () => signed({ scope: "admin" })],
  ["an ephemeral one of no request", () => signed({ scope: "sign" })],
  ["a full one of a request", () => signed({ two_factor: randomUUID() })],
  ["two scopes", () => signed({ scope: "sign full" })],
  ["a list of scopes", () => signed({ scope: ["full"] })],
  ["no account key", () => without("account_key")],
  ["an account key in a non-canonical encoding", () => signed({ account_key: { alg: "ES256", key: "AB".repeat(64) } })],
  ["a session key of another algorithm", () => signed({ session_key: { alg: "HS256", key: "ab".repeat(64) } })],
  ["an unknown key id", () => signed({}, { kid: randomUUID() })],
  ["a key id of Object", () => signed({}, { kid: "__proto__" })],
  ["a key id that is a path", () => signed({}, { kid: "../../../../dev/null" })],
  ["a key id that is a number", () => signed({}, { kid: 1 })],
  ["no key id", () => signed({}, { kid: undefined })],
  ["alg none", () => `${input({ alg: "none" })}.`],
  ["alg none with a good signature", () => signed({}, { alg: "none" })],
  ["alg NONE", () => `${input({ alg: "NONE" })}.AA`],
  ["no alg", () => signed({}, { alg: undefined })],
  ["alg in lower case", () => signed({}, { alg: "es256" })],
  ["alg ES384", () => signed({}, { alg: "ES384" })],
  ["alg RS256", () => signed({}, { alg: "RS256" })],
  ["a list of algs", () => signed({}, { alg: ["ES256"] })],
  ["HS256 with the public key in PEM", () => hmac(publicKey().export({ type: "spki", format: "pem" }))],
  ["HS256 with the public key in DER", () => hmac(publicKey().export({ type: "spki", format: "der" }))],
  ["HS256 with the public JWK", () => hmac(JSON.stringify(real.publicJwk))],
  ["HS512 with the key's x", () => hmac(Buffer.from(real.publicJwk.x!, "base64url"), "HS512")],
  ["HS256 with an empty secret", () => hmac("")],
  ["typ JWT", () => signed({}, { typ: "JWT" })],
  ["typ of a refresh token", () => signed({}, { typ: "rt+jwt" })],
  ["typ of an ID token", () => signed({}, { typ: "id+jwt" })],
  ["no typ", () => signed({}, { typ: undefined })],
  ["a key of the attacker's", () => own({})],
  ["a key in the header", () => own({ jwk: attackerJwk })],
  ["a key in the header and its own id", () => own({ jwk: { ...attackerJwk, kid: real.kid } })],
  ["a URL of keys", () => own({ jku: "http://evil.example/jwks.json" })],
  ["a URL of certificates", () => own({ x5u: "http://evil.example/cert.pem" })],
  ["a certificate in the header", () => own({ x5c: ["AAAA"] })],
  ["a key in the header beside a good signature", () => signed({}, { jwk: real.publicJwk })],
  ["a URL beside a good signature", () => signed({}, { jku: `${stack.gateway}/.well-known/jwks.json` })],
  ["a critical extension", () => signed({}, { crit: ["exp"], exp: now() + 900 })],
  ["an empty list of critical extensions", () => signed({}, { crit: [] })],
  ["an unencoded payload", () => signed({}, { crit: ["b64"], b64: false })],
  ["compression", () => signed({}, { zip: "DEF" })],
  ["a signature left out", () => `${input()}.`],
  ["a signature and its dot left out", () => input()],
  ["a signature cut short", () => signed().slice(0, -4)],
  ["a signature with bytes more", () => `${signed()}AAAA`],
  ["an edited signature", () => edited(2, 10)],
  ["an edited last bit of the signature's text", () => lastBits()],
  ["a signature of zeros", () => `${input()}.${Buffer.alloc(64).toString("base64url")}`],
  ["a signature of the curve's order", () => `${input()}.${Buffer.from(`${N}${N}`, "hex").toString("base64url")}`],
  ["a signature in DER", () => derSigned()],
  ["an edited payload", () => swapped({ scope: "recover" })],
  ["another account in the payload", () => swapped({ sub: randomUUID() })],
  ["an edited header", () => edited(0, 4)],
  ["a payload that is no JSON", () => signJwt(header(), "nonsense", real.privateKey)],
  ["a payload of null", () => signJwt(header(), "null", real.privateKey)],
  ["a payload of a list", () => signJwt(header(), [claims()], real.privateKey)],
  ["a header of a list", () => signJwt([header()], claims(), real.privateKey)],
  ["five parts", () => `${signed()}.AA.AA`],
  ["four parts", () => `${signed()}.AA`],
  ["an empty first part", () => `.${signed()}`],
  ["padding", () => signed().replaceAll(".", "=.")],
  ["a refresh token", () => victim.signedUp.credentials.refreshToken],
  ["an ID token", () => victim.idToken],
  ["an identity token", () => identityToken],
  ["an identity token's claims by the token key", () => signJwt(header(), read(identityToken).claims, real.privateKey)],
  [
    "an identity token that names the token key's id",
    () => signJwt(header({ typ: "identity+jwt" }), claims(), identityKey.privateKey),
  ],
  [
    "an access token by the key of identity tokens",
    () => signJwt(header({ kid: identityKey.kid }), claims(), identityKey.privateKey),
  ],
  ["16 KiB", () => signed({ pad: "x".repeat(7_000) })],
];

const N = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";

function edited(index: number, at: number): string {
  const parts = signed().split(".");
  const text = parts[index]!;
  parts[index] = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
  return parts.join(".");
}

/** Sixty-four bytes leave four bits of the last character unused. */
function lastBits(): string {
  const token = signed();
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return token.slice(0, -1) + alphabet[alphabet.indexOf(token.at(-1)!) ^ 1];
}

function derSigned(): string {
  const text = input();
  return `${text}.${sign("sha256", Buffer.from(text), real.privateKey).toString("base64url")}`;
}

/** Returns a valid token whose payload was changed after it was signed. */
function swapped(changes: Record<string, unknown>): string {
  const token = signed();
  const [head, , signature] = token.split(".");
  return `${head}.${part({ ...read(token).claims, ...changes })}.${signature}`;
}

/** docs/recovery.md: a recovery key's session reads, freezes, and asks for and approves one new device. */
const NARROWER_SCOPES = {
  sign: ["signTransaction", "signPaymaster", "finishTwoFactor"],
  recover: [
    ...["getMe", "listNetworks", "listTemplates", "listDevices", "listKeys", "listSessions", "listTimeLocks"],
    ...["listTwoFactor", "getTwoFactor", "watchEvents", "freezeAccount", "unfreezeAccount", "signOut"],
    ...["redirectTwoFactor", "rejectTwoFactor", "approveTwoFactor", "signTransaction", "signPaymaster"],
  ],
};

const guarded = HOSTILE_ROUTES.filter(({ token }) => token === "required");

describe.each(guarded.map((route) => [route.operationId, route] as const))("%s", (_, route) => {
  const ask = (token: string) => {
    const { path, body } = route.sample(victim);
    return send({ method: route.method, path, body, token });
  };

  const whose = () => (route.asNobody ? { sub: randomUUID() } : {});

  it("a valid token is accepted", async () => {
    const answer = await ask(signed(whose()));
    expect(answer.status, answer.text).not.toBe(401);
    expect(route.answers).toContain(answer.status < 300 ? answer.status : answer.body.error);
  });

  it(`${BAD_TOKENS.length} bad tokens are refused`, async () => {
    const opened: string[] = [];
    for (const [name, token] of BAD_TOKENS) {
      const answer = await ask(token());
      if (answer.status !== 401) {
        opened.push(`${name}: ${answer.status}`);
        continue;
      }
      expectProblem(answer, 401, "InvalidAccessToken");
      expect(answer.headers["www-authenticate"], name).toContain('error="invalid_token"');
    }
    expect(opened).toEqual([]);
  });

  it("an expired one is answered as expired", async () => {
    expectProblem(await ask(signed({ iat: now() - 901, exp: now() - 1 })), 401, "AccessTokenExpired");
  });

  it.each(Object.entries(NARROWER_SCOPES))("scope %s is accepted only where it belongs", async (scope, operations) => {
    const answer = await ask(await mintAccessToken(victim, { ...whose(), scope }));
    if (!operations.includes(route.operationId)) return expectProblem(answer, 403, "InsufficientScope");
    expect(answer.body?.error).not.toBe("InsufficientScope");
    // The token's request for approval does not exist.
    if (scope === "sign") expect(answer.status, answer.text).not.toBe(200);
  });
});

it("services accept a recovery key's session for the same operations, and for the steps of approving", () => {
  const { rpcs } = JSON.parse(readFileSync("deploy/peers.json", "utf8")) as {
    rpcs: Record<string, { scopes?: string[] }>;
  };
  const accepted = Object.keys(rpcs).filter((rpc) => rpcs[rpc]!.scopes?.includes("recover"));
  const names = accepted.map((rpc) => rpc.replace(/^.*\/(.)/, (_, first: string) => first.toLowerCase()));
  // Templates are the same for everybody, and need no token at the signer.
  const operations = NARROWER_SCOPES.recover.filter((name) => !["listTemplates", "watchEvents"].includes(name));
  // A request for a new device needs no token.
  const others = ["watch", "submitKeyAddition", "verifyKeyAddition", "requestTwoFactor"];
  expect(names.sort()).toEqual([...operations, ...others].sort());
});

it(`${BAD_TOKENS.length} bad tokens change nothing about a sign-up`, async () => {
  const signUp = hostileRoute("signUp");
  const { method, path, body } = { method: signUp.method, ...signUp.sample(victim) };
  for (const [name, token] of BAD_TOKENS) {
    const answer = await send({ method, path, body, token: token() });
    expectProblem(answer, 409, "AccountExists");
    expect(answer.body.detail, name).toMatch(/already: sign in|does not count \(InvalidAccessToken\)/);
  }
});

it(`${BAD_TOKENS.length} bad tokens, and expired ones, change nothing about a request for a new device`, async () => {
  const { method, sample, answers } = hostileRoute("requestTwoFactor");
  const expired = { scope: "recover", iat: now() - 901, exp: now() - 1 };
  for (const [name, token] of [...BAD_TOKENS, ["an expired one", () => signed(expired)] as const]) {
    const answer = await send({ method, ...sample(victim), token: token() });
    expect(answers, name).toContain(answer.body.error);
  }
});

it("a token of an ended session is refused everywhere", async () => {
  const { client, idToken } = await newVictim();
  const { accessToken: token } = client.credentials!;
  const me = () => send({ method: "GET", path: "/account/v1/me", token });
  expect((await me()).status).toBe(200);
  await client.signOut();
  await expect.poll(async () => (await me()).status, { timeout: 2_000, interval: 50 }).toBe(401);
  for (const route of guarded) {
    const { path, body } = route.sample(victim);
    expectProblem(await send({ method: route.method, path, body, token }), 401, "SessionEnded");
  }
  remember(
    await client.signIn({
      login: { method: "id_token_channel", token: idToken },
      chainName: stack.chains[0]!.chainName,
    }),
  );
});

afterwards();
