import { createHash, randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { recordOfRow } from "../../services/signer/src/testing/stored-records.ts";
import { verifyChain } from "../../services/signer/src/testing/verify-chain.ts";
import { expectProblem } from "../support/raw-request.ts";
import { afterwards, attackerPhone, newVictim } from "./attacker.ts";
import { bytes, creator, type Fields, type Item, integer, payload, paymaster, tagged, utf8 } from "./messages.ts";
import {
  ask,
  block,
  envelope,
  fields,
  otherPerson,
  own,
  refused,
  signature,
  signedRecords,
  victim,
} from "./signing-attacks.ts";
import { mintAccessToken, query } from "./token-forge.ts";

const theirs = () => bytes(otherPerson.address);

/** Headers that both operations refuse, each for its own kind of message. */
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

  it("the paymaster signs no payload, the authorizer no envelope", async () => {
    await refused("paymaster", tagged(fields({ sequence: integer(9) })), ["WrongMessageKind"]);
    await refused("transaction", await envelope({ sequence: integer(9) }), ["WrongMessageKind"]);
    await refused("paymaster", tagged(fields({ payer: own() })), ["WrongMessageKind"]);
  });

  it("the paymaster does not sign if the account itself pays", async () => {
    await refused("paymaster", await envelope({ payer: own() }), ["UnknownPayer"]);
  });

  it("a script of 60 KiB exceeds the limit of a body", async () => {
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
        const answer = await ask(operation, message, { chainName });
        expectProblem(answer, 400, "UnknownChain");
        expect(answer.body.detail).toBe(`No chain ${JSON.stringify(chainName)}; available: "flow-emulator"`);
        expect(await signedRecords(message)).toEqual([]);
      }
    },
  );
});

describe("the paymaster requires the session device's signature", () => {
  const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const hash = (items: Item[]) => createHash("sha256").update(tagged(items)).digest();

  it.each<[string, (items: Item[]) => Promise<Item>, string]>([
    ["none", async () => [], "UserSignatureMissing"],
    ["the server key's place only", async (items) => [await signature(items, { key: 0 })], "UserSignatureMissing"],
    [
      "another account's",
      async (items) => [await signature(items, { by: otherPerson.deviceKey })],
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
      async (items) => [await signature(items), await signature(items, { by: otherPerson.deviceKey, key: 2 })],
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

  it("the signature with n-s is also valid: hardware may produce either", async () => {
    const message = await envelope({ sequence: integer(5) }, async (items) => {
      const [index, key, value] = (await signature(items)) as [Buffer, Buffer, Uint8Array];
      const s = N - BigInt(`0x${Buffer.from(value.subarray(32)).toString("hex")}`);
      return [[index, key, Buffer.concat([value.subarray(0, 32), bytes(s.toString(16).padStart(64, "0"))])]];
    });
    expect((await ask("paymaster", message)).status).toBe(200);
  });
});

describe("the token", () => {
  const never = async (message: Uint8Array) => expect(await signedRecords(message)).toEqual([]);

  it("of another account is refused by both operations", async () => {
    const bearer = await mintAccessToken(otherPerson);
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

  it.each(["sign", "recover"])("of scope %s does not sign this", async (scope) => {
    const bearer = await mintAccessToken(victim, { scope });
    const message = tagged(fields({ sequence: integer(12) }));
    const answer = await ask("transaction", message, {}, bearer);
    expectProblem(answer, 403, ["SigningRefused", "InsufficientScope"]);
    await never(message);
  });

  it("of an account that is on no chain is answered AccountNotReady", async () => {
    const bearer = await mintAccessToken({ ...victim, accountId: randomUUID() });
    const message = tagged(fields({ sequence: integer(13) }));
    expectProblem(await ask("transaction", message, {}, bearer), 409, "AccountNotReady");
    await never(message);
  });
});

it("one account's expensive scripts do not block another account's new script", async () => {
  const thief = await newVictim();
  const bearer = await mintAccessToken(thief);
  // Each name is bound to one that is declared after it: expensive to check for its size.
  const names = Array.from({ length: 300 }, (_, i) => `let n${300 - i} = n${299 - i};`).join(" ");
  const hard = (i: number) =>
    `transaction { prepare(a: auth(GetStorageCapabilityController) &Account) { let x${i} = ${i}; ${names}
      let n0 = a.capabilities.storage.getControllers(forPath: /storage/x) } }`;
  const send = (i: number) =>
    ask("transaction", tagged(payload(thief.address, block, { script: utf8(hard(i)) })), {}, bearer);
  const flood = Promise.all(Array.from({ length: 24 }, (_, i) => send(i)));
  for (let i = 0; i < 4; i++) {
    const script = utf8(`transaction { prepare(a: &Account) { log(${i}) } }`);
    expect((await ask("transaction", tagged(fields({ script, sequence: integer(30 + i) })))).status).toBe(200);
  }
  // At most four new scripts of an account wait at a time; the others are rejected immediately.
  expect((await flood).map(({ status }) => status)).toContain(429);
});

it("transactions that are signed and never sent hold only a small part of the app's fee budget", async () => {
  const hoarder = await newVictim();
  const bearer = await mintAccessToken(hoarder);
  const bigEnvelope = async (sequence: number) => {
    const items = payload(hoarder.address, block, { gas: integer(9999), sequence: integer(sequence) });
    return tagged([items, [await signature(items, { by: hoarder.deviceKey })]]);
  };
  let signed = 0;
  let answer = await ask("paymaster", await bigEnvelope(0), {}, bearer);
  for (; answer.status === 200 && signed < 50; answer = await ask("paymaster", await bigEnvelope(signed), {}, bearer))
    signed += 1;
  expectProblem(answer, 403, "SigningRefused");
  expect(answer.body).toMatchObject({
    reason: "BudgetExceeded",
    detail: expect.stringContaining("signed and not sent"),
  });
  // 5 FLOW at 0.40006 FLOW each, of the app's 5000 FLOW an hour.
  expect(signed).toBe(12);
  // Signed messages can be signed again; other accounts of the app are not affected.
  expect((await ask("paymaster", await bigEnvelope(0), {}, bearer)).status).toBe(200);
  expect((await ask("paymaster", await envelope({ sequence: integer(21) }))).status).toBe(200);
});

it("the audit chains are complete after all attacks", async () => {
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
    expect(verifyChain(rows.map(recordOfRow), { chainId: id, sequence: BigInt(head_sequence), hash: head_hash })).toBe(
      "",
    );
  }
});

afterwards();
