import { createHash, createPrivateKey, type JsonWebKey, sign as signBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { afterwards } from "./attacker.ts";
import { bytes, type Item, integer, longForm, paddedLength, paymaster, raw, tagged, tagOf, utf8 } from "./messages.ts";
import { ask, block, envelope, fields, own, refused, signature, signedRecords, victim } from "./signing-attacks.ts";

const SCRIPT = utf8("transaction { prepare(a: &Account) {} }");
const nestedLists = (depth: number): Item => {
  let body: Buffer = Buffer.of(0xc0);
  for (let i = 0; i < depth; i++)
    body = tagged({ raw: Buffer.concat([listHeader(body.length), body]) }, Buffer.alloc(0));
  return { raw: body };
};
const listHeader = (length: number) =>
  length < 56 ? Buffer.of(0xc0 + length) : Buffer.concat([Buffer.of(0xf7 + integer(length).length), integer(length)]);

function derSignature(items: Item[]): Buffer {
  const key = createPrivateKey({ key: victim.deviceKey.toJwk() as JsonWebKey, format: "jwk" });
  return signBytes("sha256", tagged(items), key);
}

it("the valid payload and the valid envelope are signed and recorded", async () => {
  for (const [operation, message] of [
    ["transaction", tagged(fields())],
    ["paymaster", await envelope()],
  ] as const) {
    const answer = await ask(operation, message);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body.signature.signature).toMatch(/^[0-9a-f]{128}$/);
    expect(await signedRecords(message)).toHaveLength(1);
  }
});

describe("a message in a non-canonical encoding, or in none, is refused", () => {
  it.each<[string, () => Item]>([
    ["a gas limit with a leading zero", () => fields({ gas: bytes("0003e7") })],
    ["a gas limit of a zero byte", () => fields({ gas: raw("00") })],
    ["a gas limit of nine bytes", () => fields({ gas: bytes("01".repeat(9)) })],
    ["a gas limit of 64 KiB", () => fields({ gas: bytes("01".repeat(8_000)) })],
    ["a gas limit of a list", () => fields({ gas: [] })],
    ["a small gas limit with a length", () => fields({ gas: raw("8105") })],
    ["a sequence number with a leading zero", () => fields({ sequence: bytes("0001") })],
    ["a sequence number of nine bytes", () => fields({ sequence: bytes("ff".repeat(9)) })],
    ["a proposal key with a leading zero", () => fields({ proposerKey: bytes("0001") })],
    ["a proposal key above 32 bits", () => fields({ proposerKey: integer(2n ** 32n) })],
    ["a script in the long form", () => fields({ script: longForm(SCRIPT) })],
    ["a script with a padded length", () => fields({ script: paddedLength(SCRIPT) })],
    ["a script that is a list", () => fields({ script: [SCRIPT] })],
    ["a script that is no UTF-8", () => fields({ script: bytes("c0af") })],
    ["a script with a lone surrogate", () => fields({ script: bytes("eda080") })],
    ["arguments that are bytes", () => fields({ arguments: utf8("[]") })],
    ["an argument that is a list", () => fields({ arguments: [[utf8("1")]] })],
    ["an argument that is no JSON", () => fields({ arguments: [utf8("{")] })],
    ["an empty argument", () => fields({ arguments: [Buffer.alloc(0)] })],
    ["a reference block of 31 bytes", () => fields({ block: bytes(block.slice(2)) })],
    ["a reference block of 33 bytes", () => fields({ block: bytes(`${block}00`) })],
    ["no reference block", () => fields({ block: Buffer.alloc(0) })],
    ["an authorizer of 7 bytes", () => fields({ authorizers: [own().subarray(1)] })],
    ["an authorizer of 20 bytes", () => fields({ authorizers: [Buffer.alloc(20, 1)] })],
    ["an authorizer twice", () => fields({ authorizers: [own(), own()] })],
    ["authorizers that are bytes", () => fields({ authorizers: own() })],
    ["a payer of 9 bytes", () => fields({ payer: Buffer.concat([paymaster, Buffer.of(0)]) })],
    ["no payer", () => fields({ payer: Buffer.alloc(0) })],
    ["no proposer", () => fields({ proposer: Buffer.alloc(0) })],
    ["a proposer of a list", () => fields({ proposer: [own()] })],
    ["eight fields", () => fields().slice(0, 8)],
    ["ten fields", () => [...fields(), Buffer.alloc(0)]],
    ["no field", () => []],
    ["bytes alone", () => utf8("transaction")],
    ["an empty envelope", () => [[], []]],
    ["an envelope of three parts", () => [fields(), [], []]],
    ["an envelope of one part", () => [fields()]],
    ["an envelope in an envelope", () => [[fields(), []], []]],
    ["a list in the long form", () => ({ raw: Buffer.concat([Buffer.of(0xf8, 1), Buffer.of(0xc0)]) })],
    ["a length longer than the message", () => raw("f90fff00")],
    ["a length of eight bytes", () => raw("ffffffffffffffffff")],
    ["a length of eight bytes for a string", () => raw("bfffffffffffffffff00")],
    ["a byte after the list", () => ({ raw: Buffer.concat([tagged(fields(), Buffer.alloc(0)), Buffer.of(0)]) })],
    ["a byte missing", () => ({ raw: tagged(fields(), Buffer.alloc(0)).subarray(0, -1) })],
    ["a thousand lists in each other", () => nestedLists(1_000)],
    ["ten thousand lists in each other", () => ({ raw: Buffer.concat([Buffer.alloc(10_000, 0xc1), Buffer.of(0xc0)]) })],
  ])("%s", async (_, item) => {
    const message = tagged(item());
    for (const operation of ["transaction", "paymaster"] as const)
      await refused(operation, message, ["InvalidMessage"]);
  });

  it.each<[string, () => Buffer]>([
    ["the tag of user messages", () => tagOf("FLOW-V0.0-user")],
    ["a tag of the next version", () => tagOf("FLOW-V1.0-transaction")],
    ["a tag in lower case", () => tagOf("flow-v0.0-transaction")],
    ["the tag of account proofs", () => tagOf("FCL-ACCOUNT-PROOF-V0.0")],
    ["the tag without its padding", () => utf8("FLOW-V0.0-transaction")],
    ["the tag padded with spaces", () => utf8("FLOW-V0.0-transaction".padEnd(32))],
    ["the tag twice", () => Buffer.concat([tagOf("FLOW-V0.0-transaction"), tagOf("FLOW-V0.0-transaction")])],
    ["an Ethereum message's prefix", () => utf8("\x19Ethereum Signed Message:\n32")],
    ["zeros", () => Buffer.alloc(32)],
    ["no tag", () => Buffer.alloc(0)],
  ])("%s", async (_, tag) => {
    for (const operation of ["transaction", "paymaster"] as const) {
      await refused(operation, tagged(fields(), tag()), ["InvalidMessage"]);
    }
  });

  it("a bare digest, a challenge, a refresh proof, one byte", async () => {
    for (const message of [
      createHash("sha3-256").update("x").digest(),
      Buffer.alloc(16, 7),
      utf8("countersign-token-refresh\nx"),
      Buffer.of(0),
      tagOf("FLOW-V0.0-transaction"),
    ]) {
      for (const operation of ["transaction", "paymaster"] as const)
        await refused(operation, message, ["InvalidMessage"]);
    }
  });

  it.each<[string, (items: Item[]) => Promise<Item>]>([
    ["a signature twice", async (items) => [await signature(items), await signature(items)]],
    ["signatures out of order", async (items) => [await signature(items, { key: 2 }), await signature(items)]],
    ["a signer index of nobody", async (items) => [await signature(items, { index: 7 })]],
    ["a huge signer index", async (items) => [[integer(2n ** 64n), ...(await signature(items)).slice(1)]]],
    ["a signer index with a zero", async (items) => [[raw("00"), ...(await signature(items)).slice(1)]]],
    ["a huge key index", async () => [[integer(0), integer(2n ** 40n), bytes("ab".repeat(64))]]],
    ["a signature of 63 bytes", async () => [[integer(0), integer(1), bytes("ab".repeat(63))]]],
    ["a signature of 65 bytes", async () => [[integer(0), integer(1), bytes("ab".repeat(65))]]],
    ["a signature in DER", async (items) => [[integer(0), integer(1), derSignature(items)]]],
    ["an empty signature", async () => [[integer(0), integer(1), Buffer.alloc(0)]]],
    ["a signature of two fields", async () => [[integer(0), integer(1)]]],
    ["a signature of five fields", async (items) => [[...(await signature(items)), utf8("x"), utf8("y")]]],
    ["an empty extension", async (items) => [[...(await signature(items)), Buffer.alloc(0)]]],
    ["an extension of 5,000 bytes", async (items) => [[...(await signature(items)), Buffer.alloc(5_000, 1)]]],
    ["signatures that are bytes", async () => bytes("ab".repeat(64))],
    ["a list in the list", async (items) => [[await signature(items)]]],
  ])("an envelope with %s", async (_, signatures) => {
    await refused("paymaster", await envelope({}, signatures), ["InvalidMessage"]);
    await refused("transaction", await envelope({}, signatures), ["InvalidMessage"]);
  });
});

afterwards();
