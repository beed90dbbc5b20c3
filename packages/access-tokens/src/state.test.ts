import { generateKeyPairSync } from "node:crypto";
import { FixedClock } from "@countersign/core/testing";
import type { PublicKey } from "@countersign/keys";
import { WatchResponse } from "@countersign/proto/auth/v1/token_state.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { createTokenState, type WritableTokenState } from "./state.ts";
import {
  accountId,
  accountKey,
  type Entry,
  entry,
  keyMessage,
  type MessageWithEntries,
  sessionId,
  sessionKey,
  watchMessage,
} from "./testing/samples.ts";

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });

let clock: FixedClock;
let monotonic: number;
let state: WritableTokenState;

const heartbeat = (message: MessageWithEntries = {}): void => state.apply(watchMessage(message));

beforeEach(() => {
  clock = new FixedClock();
  monotonic = 0;
  state = createTokenState({ clock, monotonicMs: () => monotonic });
  heartbeat({ reset: true, tokenKeys: [keyMessage("k1", pair.publicKey)] });
});

describe("the state", () => {
  test("entries end by themselves", () => {
    heartbeat({ entries: [entry({ endedSessionId: sessionId, until: new Date(clock.now().getTime() + 60_000) })] });
    expect(state.isSessionEnded(sessionId)).toBe(true);
    clock.advance(60_000);
    expect(state.isSessionEnded(sessionId)).toBe(false);
  });

  test("a blocked key ends being blocked by itself", () => {
    const key = { algorithm: "ES256K", publicKey: accountKey.key } as const;
    const until = new Date(clock.now().getTime() + 60_000);
    heartbeat({ entries: [entry({ blockedKey: { accountId, publicKey: key }, until })] });
    clock.advance(59_999);
    expect([state.isKeyBlocked(accountId, key), state.blockedKeys(accountId)]).toEqual([true, [key]]);
    clock.advance(1);
    expect([state.isKeyBlocked(accountId, key), state.blockedKeys(accountId)]).toEqual([false, []]);
  });

  test("keeps when a freeze was lifted, for a day, through another freeze and a whole new state", () => {
    const lifted = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000);
    const lift = (until: Date) => ({ entries: [entry({ frozenAccountId: accountId, active: false, until })] });
    const [first, second] = [lifted(0), lifted(60)];
    expect(state.unfrozenAt(accountId)).toBeUndefined();
    heartbeat(lift(first));
    heartbeat({ entries: [entry({ frozenAccountId: accountId })] });
    expect([state.isFrozen(accountId), state.unfrozenAt(accountId)]).toEqual([true, first]);
    heartbeat(lift(second));
    expect([state.isFrozen(accountId), state.unfrozenAt(accountId)]).toEqual([false, second]);
    heartbeat({ reset: true, tokenKeys: [keyMessage("k1", pair.publicKey)], ...lift(second) });
    for (let i = 0; i < 256; i++) heartbeat();
    expect(state.unfrozenAt(accountId)).toEqual(second);
    clock.advance(24 * 3_600_000);
    for (let i = 0; i < 256; i++) heartbeat();
    expect(state.unfrozenAt(accountId)).toEqual(second);
    clock.advance(3_600_000 + 60_000);
    expect(state.unfrozenAt(accountId), "before it is swept").toBeUndefined();
    for (let i = 0; i < 256; i++) heartbeat();
    expect(state.unfrozenAt(accountId)).toBeUndefined();
  });

  test("an entry whose time is no number is in effect", () => {
    const until = new Date(Number.NaN);
    heartbeat({ entries: [entry({ endedSessionId: sessionId, until }), entry({ frozenAccountId: accountId, until })] });
    for (let i = 0; i < 256; i++) heartbeat();
    expect([state.isSessionEnded(sessionId), state.isFrozen(accountId)]).toEqual([true, true]);
  });

  test("entries that have ended are swept, of each kind", () => {
    const until = new Date(clock.now().getTime() + 60_000);
    const key = { algorithm: "ES256", publicKey: accountKey.key } as const;
    heartbeat({
      entries: [
        entry({ endedSessionId: sessionId, until }),
        entry({ frozenAccountId: accountId, until }),
        entry({ blockedKey: { accountId, publicKey: key }, until }),
      ],
    });
    const known = () => [
      state.isSessionEnded(sessionId),
      state.isFrozen(accountId),
      state.isKeyBlocked(accountId, key),
    ];
    expect(known()).toEqual([true, true, true]);
    clock.advance(60_000);
    for (let i = 0; i < 256; i++) heartbeat();
    clock.advance(-60_000);
    expect(known()).toEqual([false, false, false]);
  });

  test("knows of no lifting where an account is frozen for a time", () => {
    heartbeat({ entries: [entry({ frozenAccountId: accountId, until: new Date(clock.now().getTime() + 60_000) })] });
    expect([state.isFrozen(accountId), state.unfrozenAt(accountId)]).toEqual([true, undefined]);
    clock.advance(60_000);
    expect([state.isFrozen(accountId), state.unfrozenAt(accountId)]).toEqual([false, undefined]);
  });

  test("lists the blocked keys of one account, until they lapse or are lifted", () => {
    const publicKey = { algorithm: "ES256", publicKey: sessionKey.key } as const;
    const other = { algorithm: "ES256", publicKey: accountKey.key } as const;
    const block = (key: PublicKey, change: Partial<Entry> = {}, account = accountId) =>
      heartbeat({ entries: [entry({ blockedKey: { accountId: account, publicKey: key }, ...change })] });
    const blocked = () => state.blockedKeys(accountId).map(({ publicKey }) => publicKey);
    expect(blocked()).toEqual([]);
    block(publicKey);
    block(other, { until: new Date(clock.now().getTime() + 60_000) });
    block(other, {}, sessionId);
    expect(blocked()).toEqual([sessionKey.key, accountKey.key]);
    clock.advance(60_000);
    expect(blocked()).toEqual([sessionKey.key]);
    for (let i = 0; i < 256; i++) heartbeat();
    expect(blocked()).toEqual([sessionKey.key]);
    block(publicKey, { active: false });
    expect(blocked()).toEqual([]);
    expect(state.blockedKeys(sessionId)).toEqual([{ algorithm: "ES256", publicKey: accountKey.key }]);
  });

  test("the wall clock does not make an old state young", () => {
    monotonic = 20_000;
    clock.set("2020-01-01T00:00:00Z");
    expect(state.current()).toBe(false);
  });

  test("an entry of a kind that this version does not know changes nothing", () => {
    heartbeat({ entries: [entry({}), entry({ endedSessionId: sessionId })] });
    expect(state.isSessionEnded(sessionId)).toBe(true);
  });

  test("has the age of its last complete message", () => {
    monotonic = 7_000;
    heartbeat({ complete: false });
    expect([state.ageMs(), state.cursor()]).toEqual([7_000, "c"]);
    heartbeat();
    expect(state.ageMs()).toBe(0);
    expect(createTokenState({ clock }).ageMs()).toBe(Number.POSITIVE_INFINITY);
  });

  test("a key that is no public P-256 key is left out", () => {
    const problems: unknown[] = [];
    const strict = createTokenState({ clock, onProblem: (error) => problems.push(error) });
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
    strict.apply({
      ...WatchResponse.create({ complete: true, reset: true }),
      tokenKeys: [
        keyMessage("a", rsa.publicKey),
        keyMessage("b", pair.privateKey),
        { kid: "c", jwkJson: "{" },
        keyMessage("d", pair.publicKey),
        keyMessage("e", generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey),
        keyMessage("f", generateKeyPairSync("ed25519").publicKey),
      ],
    });
    const taken = [..."abcdef"].filter((kid) => strict.tokenKey(kid) !== undefined);
    expect(taken).toEqual(["d"]);
    expect(problems).toHaveLength(5);
  });
});
