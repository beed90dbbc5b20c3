import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import type { TokenVerifier } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { createTokenState, type WritableTokenState } from "./state.ts";
import {
  accountId,
  accountKey,
  entry,
  keyMessage,
  type MessageWithEntries,
  sessionId,
  sessionKey,
  watchMessage,
} from "./testing/samples.ts";
import { createTokenVerifier } from "./verifier.ts";

const issuer = "https://auth.example";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
const other = generateKeyPairSync("ec", { namedCurve: "P-256" });

let clock: FixedClock;
let monotonic: number;
let state: WritableTokenState;
let verifier: TokenVerifier;

function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const iat = Math.floor(clock.now().getTime() / 1000);
  return {
    iss: issuer,
    aud: "countersign",
    sub: accountId,
    client_id: "app",
    sid: sessionId,
    scope: "full",
    jti: "j",
    iat,
    exp: iat + 900,
    auth_time: iat - 60,
    session_key: sessionKey,
    account_key: accountKey,
    ...changes,
  };
}

function token(
  options: {
    claims?: Record<string, unknown>;
    header?: Record<string, unknown>;
    key?: KeyObject;
    dsa?: "der" | "ieee-p1363";
  } = {},
): string {
  const header = { alg: "ES256", typ: "at+jwt", kid: "k1", ...options.header };
  const input = `${encode(header)}.${encode(claims(options.claims))}`;
  const key = options.key ?? pair.privateKey;
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: options.dsa ?? "ieee-p1363" }).toString("base64url")}`;
}

const heartbeat = (message: MessageWithEntries = {}): void => state.apply(watchMessage(message));

beforeEach(() => {
  clock = new FixedClock();
  monotonic = 0;
  state = createTokenState({ clock, monotonicMs: () => monotonic });
  heartbeat({ reset: true, tokenKeys: [keyMessage("k1", pair.publicKey)] });
  verifier = createTokenVerifier(state, { issuer, clock });
});

describe("a token of auth", () => {
  test("gives its claims", () => {
    const verified = verifier.verify(token());
    expect(verified).toMatchObject({
      accountId,
      sessionId,
      appId: "app",
      scope: "full",
      deviceKey: { algorithm: "ES256", publicKey: sessionKey.key },
      accountKey: { algorithm: "ES256K", publicKey: accountKey.key },
      issuedAt: clock.now(),
      expiresAt: new Date(clock.now().getTime() + 900_000),
      authTime: new Date(clock.now().getTime() - 60_000),
    });
    expect(verifier.verify(token({ claims: { auth_time: undefined } })).authTime).toBeUndefined();
  });

  test("of one request for approval names it", () => {
    const twoFactorId = "019a0000-0000-7000-8000-000000000003";
    const verified = verifier.verify(token({ claims: { scope: "sign", two_factor: twoFactorId } }));
    expect(verified).toMatchObject({ scope: "sign", twoFactorId });
    expect(verifier.verify(token()).twoFactorId).toBeUndefined();
  });

  test("ends, also when it was remembered", () => {
    const raw = token();
    verifier.verify(raw);
    clock.advance(899_000);
    verifier.verify(raw);
    clock.advance(1_000);
    expect(() => verifier.verify(raw)).toThrow(expect.objectContaining({ reason: "AccessTokenExpired" }));
    expect(() => verifier.verify(raw)).toThrow(expect.objectContaining({ reason: "AccessTokenExpired" }));
  });

  test("rejects a token of before the restore of the service's database, also one that it had verified", () => {
    const raw = token();
    verifier.verify(raw);
    const issuedFrom = new Date(clock.now().getTime() + 1_000);
    const restored = createTokenVerifier(state, { issuer, clock, issuedFrom });
    expect(() => restored.verify(raw)).toThrow(expect.objectContaining({ reason: "AccessTokenExpired" }));
    clock.advance(1_000);
    restored.verify(token());
  });

  test("lives for an hour at most, and is of limited length", () => {
    const iat = Math.floor(clock.now().getTime() / 1000);
    verifier.verify(token({ claims: { exp: iat + 3600 } }));
    expect(() => verifier.verify(token({ claims: { exp: iat + 3601 } }))).toThrow("InvalidAccessToken");
    expect(() => verifier.verify(token({ claims: { exp: iat } }))).toThrow("InvalidAccessToken");
    verifier.verify(token({ claims: { other: "x".repeat(1000) } }));
    expect(() => verifier.verify(token({ claims: { other: "x".repeat(4000) } }))).toThrow("InvalidAccessToken");
  });

  test("is checked once while it is remembered, and again once others took its place", () => {
    let checks = 0;
    const counting = {
      ...state,
      tokenKey(kid: string) {
        checks += 1;
        return state.tokenKey(kid);
      },
    };
    const small = createTokenVerifier(counting, { issuer, clock, cacheSize: 2 });
    const [first, second, third] = ["1", "2", "3"].map((jti) => token({ claims: { jti } })) as [string, string, string];
    const checked = (...raws: string[]) => {
      checks = 0;
      for (const raw of raws) small.verify(raw);
      return checks;
    };
    expect(checked(first, first, second, first)).toBe(2);
    expect(checked(third, third, second)).toBe(1);
    expect(checked(first)).toBe(1);
  });

  test("from a clock slightly ahead holds, from the future does not", () => {
    const iat = Math.floor(clock.now().getTime() / 1000);
    verifier.verify(token({ claims: { iat: iat + 30, exp: iat + 900 } }));
    expect(() => verifier.verify(token({ claims: { iat: iat + 31, exp: iat + 900 } }))).toThrow("InvalidAccessToken");
    verifier.verify(token({ claims: { nbf: iat + 30 } }));
    expect(() => verifier.verify(token({ claims: { nbf: iat + 31 } }))).toThrow("InvalidAccessToken");
  });
});

describe("refused", () => {
  const refused = (raw: string) =>
    expect(() => verifier.verify(raw)).toThrow(expect.objectContaining({ reason: "InvalidAccessToken" }));

  test.each([
    ["another issuer", { iss: "https://evil.example" }],
    ["another audience", { aud: "countersign-refresh" }],
    ["an audience list", { aud: ["countersign"] }],
    ["an account id that is none", { sub: "1 OR 1=1" }],
    ["no session", { sid: undefined }],
    ["an unknown scope", { scope: "admin" }],
    ["a scope list", { scope: "full sign" }],
    ["the scope of an ephemeral token without its request", { scope: "sign" }],
    ["a request that is none", { scope: "sign", two_factor: "1" }],
    ["a request beside the scope full", { two_factor: sessionId }],
    ["a request beside the scope recover", { scope: "recover", two_factor: sessionId }],
    ["a fractional end", { exp: 1.5e9 + 0.5 }],
    ["a text as end", { exp: "9999999999" }],
    ["a life too long", { exp: 9_999_999_999 }],
    ["upper-case hex", { session_key: { alg: "ES256", key: "AB".repeat(64) } }],
    ["an Ed25519 key of the wrong length", { account_key: { alg: "EdDSA", key: "ab".repeat(64) } }],
    ["no account key", { account_key: undefined }],
  ])("%s", (_name, changes) => refused(token({ claims: changes })));

  test.each([
    ["type of a refresh token", { typ: "rt+jwt" }],
    ["plain JWT type", { typ: "JWT" }],
    ["alg none", { alg: "none" }],
    ["unknown kid", { kid: "k2" }],
    ["no kid", { kid: undefined }],
    ["a key of its own", { jwk: other.publicKey.export({ format: "jwk" }) }],
    ["critical extensions", { crit: ["exp"] }],
  ])("header with %s", (_name, header) => refused(token({ header })));

  test("with what was sent instead, where the header says so", () => {
    const detailOf = (header: unknown) => {
      try {
        verifier.verify(`${encode(header)}.${encode(claims())}.${encode("signature")}`);
      } catch (error) {
        return (error as { detail?: string }).detail;
      }
    };
    expect(detailOf({ alg: "ES256", typ: "rt+jwt", kid: "k1" })).toMatch(/a refresh token was sent/);
    for (const other of [{ typ: "JWT" }, { alg: "none" }, "null", "1", '"typ"'])
      expect(detailOf(other)).toMatch(/another kind of token was sent/);
    expect(detailOf({ alg: "none", typ: "at+jwt", kid: "k1" })).toBe("The access token is not valid");
  });

  test("signatures that are not by the key, in another form, or with the public key as a secret", () => {
    refused(token({ key: other.privateKey }));
    refused(token({ dsa: "der" }));
    const [header, , signature] = token().split(".");
    refused(`${header}.${encode(claims({ sub: "019a0000-0000-7000-8000-000000000009" }))}.${signature}`);
    const input = `${encode({ alg: "HS256", typ: "at+jwt", kid: "k1" })}.${encode(claims())}`;
    const secret = pair.publicKey.export({ format: "pem", type: "spki" });
    refused(`${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`);
    refused(`${header}.${encode(claims())}.${Buffer.alloc(64).toString("base64url")}`);
    const good = token();
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    refused(good.slice(0, -1) + alphabet[alphabet.indexOf(good.at(-1)!) ^ 1]);
  });

  test.each(["", "a", "a.b", "a.b.c", "....", `${encode({})}.${encode("null")}.AA`, "x".repeat(10_000)])(
    "garbage %#",
    (raw) => refused(raw),
  );
});

describe("revoked access", () => {
  const raw = () => token();

  test("an ended session, at once and from the memory too", () => {
    const held = raw();
    verifier.verify(held);
    heartbeat({ entries: [entry({ endedSessionId: sessionId })] });
    expect(() => verifier.verify(held)).toThrow("SessionEnded");
    heartbeat({ entries: [entry({ endedSessionId: sessionId, active: false })] });
    verifier.verify(held);
  });

  test("the ephemeral token of a request that is over, but where it learns how that ended", () => {
    const ephemeral = token({ claims: { scope: "sign", two_factor: sessionId } });
    const finishing = createTokenVerifier(state, { issuer, clock, acceptEndedRequests: true });
    const held = raw();
    for (const each of [verifier, finishing]) expect(each.verify(ephemeral).scope).toBe("sign");
    heartbeat({ entries: [entry({ endedSessionId: sessionId })] });
    expect(() => verifier.verify(ephemeral)).toThrow("SessionEnded");
    expect(finishing.verify(ephemeral).twoFactorId).toBe(sessionId);
    // Of a full session an end is an end.
    expect(() => finishing.verify(held)).toThrow("SessionEnded");
    clock.advance(900_000 + 299_999);
    heartbeat();
    for (const each of [() => verifier.verify(ephemeral), () => finishing.verify(held)]) {
      expect(each).toThrow("AccessTokenExpired");
    }
    expect(finishing.verify(ephemeral).expiresAt.getTime()).toBeLessThan(clock.now().getTime());
    clock.advance(1);
    expect(() => finishing.verify(ephemeral)).toThrow("AccessTokenExpired");
  });

  test("a blocked key, of this account only", () => {
    const publicKey = { algorithm: "ES256K", publicKey: accountKey.key } as const;
    heartbeat({ entries: [entry({ blockedKey: { accountId: sessionId, publicKey } })] });
    verifier.verify(raw());
    heartbeat({ entries: [entry({ blockedKey: { accountId, publicKey } })] });
    expect(() => verifier.verify(raw())).toThrow("SessionEnded");
  });

  test("a frozen account is refused where that is asked for", () => {
    heartbeat({ entries: [entry({ frozenAccountId: accountId })] });
    verifier.verify(raw());
    const signer = createTokenVerifier(state, { issuer, clock, refuseFrozen: true });
    expect(() => signer.verify(raw())).toThrow("AccountFrozen");
    expect(state.isFrozen(accountId)).toBe(true);
  });

  test("a freeze, at once and for remembered tokens too, until it is lifted", () => {
    const signer = createTokenVerifier(state, { issuer, clock, refuseFrozen: true });
    const held = raw();
    signer.verify(held);
    heartbeat({ entries: [entry({ frozenAccountId: accountId })] });
    expect(() => signer.verify(held)).toThrow("AccountFrozen");
    heartbeat({ entries: [entry({ frozenAccountId: accountId, active: false })] });
    signer.verify(held);
  });

  test("a key that is blocked, for remembered tokens too, by the session's key and the account's", () => {
    const held = raw();
    verifier.verify(held);
    for (const { alg, key } of [sessionKey, accountKey]) {
      const publicKey = { algorithm: alg as "ES256" | "ES256K", publicKey: key };
      heartbeat({ entries: [entry({ blockedKey: { accountId, publicKey } })] });
      expect(() => verifier.verify(held)).toThrow("SessionEnded");
      heartbeat({ entries: [entry({ blockedKey: { accountId, publicKey }, active: false })] });
      verifier.verify(held);
    }
  });

  test("a removed token key, for remembered tokens too", () => {
    const held = raw();
    verifier.verify(held);
    heartbeat({ tokenKeys: [keyMessage("k2", other.publicKey)] });
    expect(() => verifier.verify(held)).toThrow("InvalidAccessToken");
    verifier.verify(token({ header: { kid: "k2" }, key: other.privateKey }));
  });
});

describe("a state that is not current, or was reset", () => {
  test("grants nothing before it is complete, nor ten seconds after its last heartbeat", () => {
    const empty = createTokenState({ clock, monotonicMs: () => monotonic });
    const early = createTokenVerifier(empty, { issuer, clock });
    expect(() => early.verify(token())).toThrow(expect.objectContaining({ reason: "Unavailable" }));
    monotonic = 10_000;
    verifier.verify(token());
    monotonic = 10_001;
    expect(() => verifier.verify(token())).toThrow(expect.objectContaining({ reason: "Unavailable" }));
    const signer = createTokenVerifier(state, { issuer, clock, staleReason: "SignerNotCurrent" });
    expect(() => signer.verify(token())).toThrow(expect.objectContaining({ reason: "SignerNotCurrent" }));
    heartbeat({ complete: false });
    expect(state.current()).toBe(false);
    heartbeat();
    verifier.verify(token());
  });

  test("a reset replaces everything, and only once it is complete", () => {
    heartbeat({ entries: [entry({ endedSessionId: sessionId })] });
    heartbeat({ reset: true, complete: false, tokenKeys: [keyMessage("k1", pair.publicKey)] });
    expect(state.isSessionEnded(sessionId)).toBe(true);
    heartbeat({ cursor: "d" });
    expect(state.isSessionEnded(sessionId)).toBe(false);
    expect(state.cursor()).toBe("d");
    verifier.verify(token());
  });
});
