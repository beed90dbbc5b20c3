import { uuidv4 } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { publicKeyToProto } from "@countersign/rpc";
import { expect, it } from "vitest";
import { fromKeyId, KEY_ID_BYTES, pack, toKeyId, UUID_BYTES, unpack, uuidToHex } from "./packed-entry.ts";

const keys: PublicKey[] = [
  { algorithm: "ES256", publicKey: "ab".repeat(64) },
  { algorithm: "ES256K", publicKey: "cd".repeat(64) },
  { algorithm: "EdDSA", publicKey: "ef".repeat(32) },
];
const accountId = uuidv4();

it("packed entries are the same again", () => {
  const sessions = [1_700_000_000_123.5, Number.POSITIVE_INFINITY].map((time) => ({ id: uuidToHex(uuidv4()), time }));
  expect(unpack(pack(sessions), UUID_BYTES)).toEqual(sessions);
  const blocked = keys.map((key, time) => ({ id: toKeyId(accountId, key), time }));
  expect(unpack(pack(blocked), KEY_ID_BYTES)).toEqual(blocked);
});

it("a key's id has the number that common.v1.KeyAlgorithm gives its algorithm", () => {
  for (const key of keys) {
    const id = toKeyId(accountId, key);
    expect(Number.parseInt(id.slice(32, 34), 16)).toBe(publicKeyToProto(key).algorithm);
    expect(fromKeyId(id)).toEqual(key);
  }
});
