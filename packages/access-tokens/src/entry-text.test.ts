import { uuidv4 } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { TokenStateEntries } from "@countersign/proto/auth/v1/token_state.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { expect, it } from "vitest";
import { entriesAsText, packedOf } from "./entry-text.ts";
import { fromKeyId, pack, toKeyId, uuidToHex } from "./packed-entry.ts";

const [sessionId, accountId] = [uuidv4(), uuidv4()];
const keys: PublicKey[] = [
  { algorithm: "ES256", publicKey: "ab".repeat(64) },
  { algorithm: "ES256K", publicKey: "cd".repeat(64) },
  { algorithm: "EdDSA", publicKey: "ef".repeat(32) },
];
const session = { id: uuidToHex(sessionId), time: 1_700_000_000_123.5 };
const blocked = keys.map((key, time) => ({ id: toKeyId(accountId, key), time }));
const account = { id: uuidToHex(accountId), time: Number.POSITIVE_INFINITY };
const entries = TokenStateEntries.fromPartial({
  endedSessions: { packed: pack([session, session]) },
  blockedKeys: { packed: pack(blocked) },
  frozenAccounts: { packed: pack([account]) },
});

it("is what the version before sends and reads", () => {
  expect(entriesAsText(entries)).toEqual(
    TokenStateEntries.fromPartial({
      endedSessions: { ids: `${sessionId}\n${sessionId}`, until: [session.time, session.time] },
      blockedKeys: {
        ids: keys.map(({ algorithm, publicKey }) => `${accountId}/${algorithm}/${publicKey}`).join("\n"),
        until: [0, 1, 2],
      },
      frozenAccounts: { ids: accountId, until: [Number.POSITIVE_INFINITY] },
    }),
  );
});

it("becomes the same packed entries again", () => {
  const text = entriesAsText(entries);
  expect(packedOf(text.endedSessions)).toEqual(pack([session, session]));
  expect(packedOf(text.blockedKeys)).toEqual(pack(blocked));
  expect(packedOf(text.frozenAccounts)).toEqual(pack([account]));
  expect(packedOf(text.unfrozenAccounts)).toHaveLength(0);
});

it("a key's id has the number that common.v1.KeyAlgorithm gives its algorithm", () => {
  for (const key of keys) {
    const id = toKeyId(accountId, key);
    expect(Number.parseInt(id.slice(32, 34), 16)).toBe(publicKeyToProto(key).algorithm);
    expect(fromKeyId(id)).toEqual(key);
  }
});
