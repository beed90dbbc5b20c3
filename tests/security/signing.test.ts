import { createHash, createPrivateKey, type JsonWebKey, randomUUID, sign as signBytes } from "node:crypto";
import { createAccessApi } from "@countersign/flow";
import { beforeAll, describe, expect, it } from "vitest";
import { type AuditRecord, verifyChain } from "../../services/signer/src/audit/record.ts";
import { chain } from "../e2e/person.ts";
import { afterwards, attackerPhone, expectProblem, newVictim, send, type Victim } from "./attacker.ts";
import {
  bytes,
  creator,
  type Fields,
  type Item,
  integer,
  longForm,
  paddedLength,
  payload,
  paymaster,
  raw,
  tagged,
  tagOf,
  utf8,
} from "./messages.ts";
import { mintAccessToken, query } from "./token-forge.ts";

let victim: Victim;
let stranger: Victim;
let token: string;
let block: string;
beforeAll(async () => {
  [victim, stranger] = await Promise.all([newVictim(), newVictim()]);
  token = await mintAccessToken(victim);
  block = (await createAccessApi({ baseUrl: chain.accessNode }).latestSealedBlock()).id;
});

type Operation = "transaction" | "paymaster";
const ask = (operation: Operation, message: Uint8Array, more: Record<string, unknown> = {}, bearer = token) =>
  send({
    method: "POST",
    path: `/sign/v1/cadence/${operation}`,
    token: bearer,
    body: { message: Buffer.from(message).toString("hex"), ...more },
  });

const signedRecords = (message: Uint8Array) =>
  query("signer", "SELECT verdict FROM audit_record WHERE message_hash = $1 AND verdict = 'signed'", [
    createHash("sha256").update(message).digest("hex"),
  ]);

/** That an operation refuses a message, with this error or reason, and has not signed it. */
async function refused(operation: Operation, message: Uint8Array, expected: string[]): Promise<void> {
  const answer = await ask(operation, message);
  expectProblem(answer, [400, 403, 413], ["InvalidMessage", "SigningRefused", "PayloadTooLarge"]);
  expect(expected, answer.text).toContain(answer.body.reason ?? answer.body.error);
  expect(answer.body.signature).toBeUndefined();
  expect(await signedRecords(message)).toEqual([]);
}

const fields = (change: Partial<Fields> = {}) => payload(victim.address, block, change);
const own = () => bytes(victim.address);
const theirs = () => bytes(stranger.address);

/** A payload's signature by a phone: `[signer index, key index, signature]`. */
async function signature(
  items: Item[],
  { by = victim.deviceKey, index = 0, key = 1 }: { by?: Victim["deviceKey"]; index?: number; key?: number } = {},
): Promise<Item[]> {
  return [integer(index), integer(key), await by.sign(tagged(items))];
}

/** An envelope with the victim's good signature, or others. */
async function envelope(change: Partial<Fields> = {}, signatures?: (items: Item[]) => Promise<Item>): Promise<Buffer> {
  const items = fields(change);
  return tagged([items, signatures ? await signatures(items) : [await signature(items)]]);
}

const SCRIPT = utf8("transaction { prepare(a: &Account) {} }");
const nestedLists = (depth: number): Item => {
  let body: Buffer = Buffer.of(0xc0);
  for (let i = 0; i < depth; i++)
    body = tagged({ raw: Buffer.concat([listHeader(body.length), body]) }, Buffer.alloc(0));
  return { raw: body };
};
const listHeader = (length: number) =>
  length < 56 ? Buffer.of(0xc0 + length) : Buffer.concat([Buffer.of(0xf7 + integer(length).length), integer(length)]);

it("the good payload and the good envelope are signed, and recorded", async () => {
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

describe("a message with another spelling, or none, is no message", () => {
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

function derSignature(items: Item[]): Buffer {
  const key = createPrivateKey({ key: victim.deviceKey.toJwk() as JsonWebKey, format: "jwk" });
  return signBytes("sha256", tagged(items), key);
}

/** What both operations refuse, each at its own kind of message. */
const BAD_HEADERS: [string, () => Partial<Fields>, string[]][] = [
  ["another account as authorizer", () => ({ authorizers: [theirs()] }), ["NotYourAccount"]],
  ["no authorizer", () => ({ authorizers: [] }), ["NotYourAccount"]],
  ["nobody as authorizer", () => ({ authorizers: [Buffer.alloc(8)] }), ["NotYourAccount"]],
  ["a second authorizer", () => ({ authorizers: [own(), theirs()] }), ["MoreThanOneAuthorizer"]],
  ["a first authorizer more", () => ({ authorizers: [theirs(), own()] }), ["MoreThanOneAuthorizer"]],
  ["the paymaster as authorizer", () => ({ authorizers: [paymaster] }), ["PaymasterWouldAuthorize", "NotYourAccount"]],
  [
    "the paymaster as second authorizer",
    () => ({ authorizers: [own(), paymaster] }),
    ["PaymasterWouldAuthorize", "MoreThanOneAuthorizer"],
  ],
  [
    "the paymaster as first of two",
    () => ({ authorizers: [paymaster, own()] }),
    ["PaymasterWouldAuthorize", "MoreThanOneAuthorizer"],
  ],
  ["the creator as second authorizer", () => ({ authorizers: [own(), creator] }), ["MoreThanOneAuthorizer"]],
  [
    "a hundred authorizers",
    () => ({ authorizers: [own(), ...Array.from({ length: 99 }, (_, i) => Buffer.alloc(8, i + 1))] }),
    ["MoreThanOneAuthorizer"],
  ],
  ["another account as proposer", () => ({ proposer: theirs() }), ["ProposerNotYours"]],
  [
    "the paymaster as proposer",
    () => ({ proposer: paymaster, proposerKey: integer(0) }),
    ["ProposerNotYours", "PaymasterWouldAuthorize"],
  ],
  ["the creator as proposer", () => ({ proposer: creator, proposerKey: integer(0) }), ["ProposerNotYours"]],
  ["the server key as proposer", () => ({ proposerKey: integer(0) }), ["ProposerNotYours"]],
  ["another account as payer", () => ({ payer: theirs() }), ["UnknownPayer"]],
  ["the creator as payer", () => ({ payer: creator }), ["UnknownPayer"]],
  ["nobody as payer", () => ({ payer: Buffer.alloc(8) }), ["UnknownPayer"]],
  ["a gas limit of nothing", () => ({ gas: integer(0) }), ["GasLimit"]],
  ["a gas limit above the cap", () => ({ gas: integer(10_000) }), ["GasLimit"]],
  ["the largest gas limit", () => ({ gas: integer(2n ** 64n - 1n) }), ["GasLimit"]],
  ["an empty script", () => ({ script: Buffer.alloc(0) }), ["ScriptNotUnderstood", "InvalidMessage"]],
  ["a script of spaces", () => ({ script: utf8(" \n\t ") }), ["ScriptNotUnderstood", "InvalidMessage"]],
];

describe("the rules of the header", () => {
  it.each(BAD_HEADERS)("%s is refused", async (_, change, reasons) => {
    await refused("transaction", tagged(fields(change())), reasons);
    await refused("paymaster", await envelope(change()), reasons);
  });

  it("a payload is not the paymaster's, an envelope is not the authorizer's", async () => {
    await refused("paymaster", tagged(fields({ sequence: integer(9) })), ["WrongMessageKind"]);
    await refused("transaction", await envelope({ sequence: integer(9) }), ["WrongMessageKind"]);
    await refused("paymaster", tagged(fields({ payer: own() })), ["WrongMessageKind"]);
  });

  it("the paymaster does not sign where the account pays itself", async () => {
    await refused("paymaster", await envelope({ payer: own() }), ["UnknownPayer"]);
  });

  it("a script of 60 KiB is more than a body may carry", async () => {
    const script = utf8(`transaction {} ${"/".repeat(60 * 1024)}`);
    await refused("transaction", tagged(fields({ script })), ["PayloadTooLarge"]);
  });

  it.each(["nowhere", "__proto__", "flow-mainnet", "FLOW-EMULATOR", "flow-emulator\n"])(
    "the chain %j is none",
    async (chainName) => {
      for (const [operation, message] of [
        ["transaction", tagged(fields({ sequence: integer(77) }))],
        ["paymaster", await envelope({ sequence: integer(77) })],
      ] as const) {
        expectProblem(await ask(operation, message, { chainName }), 400, "UnknownChain");
        expect(await signedRecords(message)).toEqual([]);
      }
    },
  );
});

describe("the paymaster wants the session device's signature", () => {
  const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const hash = (items: Item[]) => createHash("sha256").update(tagged(items)).digest();

  it.each<[string, (items: Item[]) => Promise<Item>, string]>([
    ["none", async () => [], "UserSignatureMissing"],
    ["the server key's place only", async (items) => [await signature(items, { key: 0 })], "UserSignatureMissing"],
    [
      "another account's",
      async (items) => [await signature(items, { by: stranger.deviceKey })],
      "UserSignatureInvalid",
    ],
    [
      "another device's of the same account",
      async (items) => [await signature(items, { by: attackerPhone().deviceKey, key: 2 })],
      "UserSignatureInvalid",
    ],
    ["zeros", async () => [[integer(0), integer(1), Buffer.alloc(64)]], "UserSignatureInvalid"],
    [
      "the order of the curve",
      async () => [[integer(0), integer(1), bytes(N.toString(16).repeat(2))]],
      "UserSignatureInvalid",
    ],
    ["of another payload", async () => [await signature(fields({ gas: integer(998) }))], "UserSignatureInvalid"],
    [
      "of the payload without its tag",
      async (items) => [[integer(0), integer(1), await victim.deviceKey.sign(tagged(items, Buffer.alloc(0)))]],
      "UserSignatureInvalid",
    ],
    [
      "of the digest",
      async (items) => [[integer(0), integer(1), await victim.deviceKey.sign(hash(items))]],
      "UserSignatureInvalid",
    ],
    [
      "of the envelope",
      async (items) => [[integer(0), integer(1), await victim.deviceKey.sign(tagged([items, []]))]],
      "UserSignatureInvalid",
    ],
    [
      "a good one with an extension",
      async (items) => [[...(await signature(items)), utf8("x")]],
      "UserSignatureInvalid",
    ],
    [
      "in the paymaster's name",
      async (items) => [await signature(items, { index: 1, key: 0 })],
      "UserSignatureInvalid",
    ],
    [
      "a good one and one in the paymaster's name",
      async (items) => [await signature(items), await signature(items, { index: 1, key: 0 })],
      "UserSignatureInvalid",
    ],
    [
      "a good one and a forged one",
      async (items) => [await signature(items), await signature(items, { by: stranger.deviceKey, key: 2 })],
      "UserSignatureInvalid",
    ],
    [
      "the same under two keys",
      async (items) => [await signature(items), await signature(items, { key: 2 })],
      "UserSignatureInvalid",
    ],
  ])("%s", async (_, signatures, reason) => {
    await refused("paymaster", await envelope({}, signatures), [reason]);
  });

  it("the n-s twin is the device's signature as well: hardware makes either", async () => {
    const message = await envelope({ sequence: integer(5) }, async (items) => {
      const [index, key, value] = (await signature(items)) as [Buffer, Buffer, Uint8Array];
      const s = N - BigInt(`0x${Buffer.from(value.subarray(32)).toString("hex")}`);
      return [[index, key, Buffer.concat([value.subarray(0, 32), bytes(s.toString(16).padStart(64, "0"))])]];
    });
    expect((await ask("paymaster", message)).status).toBe(200);
  });
});

describe("whose token it is", () => {
  const never = async (message: Uint8Array) => expect(await signedRecords(message)).toEqual([]);

  it("another account's opens neither operation", async () => {
    const bearer = await mintAccessToken(stranger);
    const payer = await envelope({ sequence: integer(11) });
    const plain = tagged(fields({ sequence: integer(11) }));
    for (const [operation, message] of [
      ["transaction", plain],
      ["paymaster", payer],
    ] as const) {
      const answer = await ask(operation, message, {}, bearer);
      expectProblem(answer, 403, "SigningRefused");
      expect(answer.body.reason).toBe("NotYourAccount");
      await never(message);
    }
  });

  it.each(["sign", "recover"])("one of scope %s does not sign this", async (scope) => {
    const bearer = await mintAccessToken(victim, { scope });
    const message = tagged(fields({ sequence: integer(12) }));
    const answer = await ask("transaction", message, {}, bearer);
    expectProblem(answer, 403, ["SigningRefused", "InsufficientScope"]);
    await never(message);
  });

  it("one of an account that stands on no chain is told so", async () => {
    const bearer = await mintAccessToken({ ...victim, accountId: randomUUID() });
    const message = tagged(fields({ sequence: integer(13) }));
    expectProblem(await ask("transaction", message, {}, bearer), 409, "AccountNotReady");
    await never(message);
  });
});

it("the audit chains are whole after all of it", async () => {
  const heads = await query<{ id: string; head_sequence: string; head_hash: string }>(
    "signer",
    "SELECT * FROM audit_chain",
  );
  expect(heads.length).toBeGreaterThan(0);
  for (const { id, head_sequence, head_hash } of heads) {
    const rows = await query<Record<string, unknown>>(
      "signer",
      "SELECT * FROM audit_record WHERE chain_id = $1 AND sequence <= $2 ORDER BY sequence",
      [id, head_sequence],
    );
    const records = rows.map((row) => {
      const named = Object.entries(row).map(([name, value]) => [
        name.replace(/_(\w)/g, (_, c) => c.toUpperCase()),
        value,
      ]);
      return { ...Object.fromEntries(named), sequence: BigInt(row.sequence as string) } as AuditRecord;
    });
    expect(verifyChain(records, { chainId: id, sequence: BigInt(head_sequence), hash: head_hash })).toBe("");
  }
});

afterwards();
