import { bytesToHex, hexToBytes } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { encodeTransactionEnvelope, encodeTransactionPayload } from "@onflow/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAccountsArguments, createAccountsScript } from "../templates/create-accounts.ts";
import { decodeMessage, InvalidMessageError } from "./decode-message.ts";
import { decodeRlp, encodeRlp, RlpError, type RlpItem } from "./rlp.ts";
import { envelopeMessage, type FlowTransaction, payloadMessage, signerList, TRANSACTION_TAG } from "./transaction.ts";

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(bytesToHex);
const keyIds = fc.integer({ min: 0, max: 70_000 });
const integers = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n });

const transactions: fc.Arbitrary<FlowTransaction> = fc
  .record({
    script: fc.string({ unit: "grapheme", maxLength: 200 }),
    arguments: fc.array(
      fc.string({ maxLength: 60 }).map((value) => JSON.stringify({ type: "String", value })),
      { maxLength: 3 },
    ),
    referenceBlockId: hex(32),
    gasLimit: integers,
    proposalKey: fc.record({ address: hex(8), keyId: keyIds, sequenceNumber: integers }),
    payer: hex(8),
    authorizers: fc.uniqueArray(hex(8), { maxLength: 3 }),
    signatures: fc.uniqueArray(fc.record({ at: fc.nat(4), keyId: keyIds, signature: hex(64) }), {
      maxLength: 4,
      selector: ({ at, keyId }) => `${at}:${keyId}`,
    }),
  })
  .map(({ signatures, ...payload }) => {
    const signers = signerList(payload);
    const entries = signatures
      .filter(({ at }) => at < signers.length)
      .map(({ at, keyId, signature }) => ({ address: signers[at]!, keyId, signature }));
    return { ...payload, payloadSignatures: entries, envelopeSignatures: [] };
  });

/** The same transaction as Flow's own library wants it. */
const voucher = (tx: FlowTransaction) => ({
  cadence: tx.script,
  refBlock: tx.referenceBlockId,
  computeLimit: Number(tx.gasLimit),
  arguments: tx.arguments.map((argument) => JSON.parse(argument)),
  proposalKey: {
    address: tx.proposalKey.address,
    keyId: tx.proposalKey.keyId,
    sequenceNum: Number(tx.proposalKey.sequenceNumber),
  },
  payer: tx.payer,
  authorizers: [...tx.authorizers],
  payloadSigs: tx.payloadSignatures.map(({ address, keyId, signature }) => ({ address, keyId, sig: signature })),
});

describe("messages", () => {
  it("equal those of Flow's own library", () => {
    fc.assert(
      fc.property(transactions, (tx) => {
        expect(bytesToHex(payloadMessage(tx))).toBe(encodeTransactionPayload(voucher(tx) as never));
        expect(bytesToHex(envelopeMessage(tx))).toBe(encodeTransactionEnvelope(voucher(tx) as never));
      }),
      { numRuns: 150 },
    );
  });

  it("decode to what was encoded", () => {
    fc.assert(
      fc.property(transactions, (tx) => {
        const { payloadSignatures, envelopeSignatures: _, ...payload } = tx;
        expect(decodeMessage(payloadMessage(tx))).toEqual({ kind: "payload", ...payload, payloadSignatures: [] });
        const decoded = decodeMessage(envelopeMessage(tx));
        expect(decoded).toMatchObject({ kind: "envelope", ...payload });
        expect(new Set(decoded.payloadSignatures)).toEqual(new Set(payloadSignatures));
        expect(envelopeMessage({ ...decoded })).toEqual(envelopeMessage(tx));
      }),
      { numRuns: 150 },
    );
  });

  it("every single-byte change is refused or changes what is reported", () => {
    fc.assert(
      fc.property(transactions, fc.integer({ min: 1, max: 255 }), (tx, flip) => {
        const message = envelopeMessage(tx);
        const before = decodeMessage(message);
        for (let i = 0; i < message.length; i += 3) {
          const changed = message.slice();
          changed[i]! ^= flip;
          try {
            expect(decodeMessage(changed)).not.toEqual(before);
          } catch (error) {
            expect(error).toBeInstanceOf(InvalidMessageError);
          }
        }
      }),
      { numRuns: 10 },
    );
  });

  it("garbage throws InvalidMessageError and nothing else", () => {
    const tagged = fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.from([...TRANSACTION_TAG, ...bytes]));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), tagged), (bytes) => {
        expect(() => decodeMessage(bytes)).toThrow(InvalidMessageError);
      }),
      { numRuns: 2000 },
    );
  });
});

const sample: FlowTransaction = {
  script: "transaction {}",
  arguments: [],
  referenceBlockId: "ab".repeat(32),
  gasLimit: 9999n,
  proposalKey: { address: "01cf0e2f2f715450", keyId: 1, sequenceNumber: 0n },
  payer: "179b6b1cb6755e31",
  authorizers: ["01cf0e2f2f715450"],
  payloadSignatures: [],
  envelopeSignatures: [],
};

/** The sample's payload with one field replaced. */
function tampered(index: number, item: RlpItem): Uint8Array {
  const fields = [...(decodeRlp(payloadMessage(sample).subarray(32)) as RlpItem[])];
  fields[index] = item;
  return Uint8Array.from([...TRANSACTION_TAG, ...encodeRlp(fields)]);
}

describe("hostile messages", () => {
  const payload = payloadMessage(sample);
  const withBody = (body: string) => Uint8Array.from([...TRANSACTION_TAG, ...hexToBytes(body)]);
  const signature = [Uint8Array.of(), Uint8Array.of(1), new Uint8Array(64)];
  const envelope = (signatures: RlpItem) =>
    Uint8Array.from([...TRANSACTION_TAG, ...encodeRlp([decodeRlp(payload.subarray(32)), signatures])]);

  it.each<[string, Uint8Array]>([
    ["nothing", new Uint8Array()],
    ["the tag alone", TRANSACTION_TAG],
    ["another tag", Uint8Array.from(payload, (byte, i) => (i === 5 ? byte ^ 1 : byte))],
    ["trailing bytes", Uint8Array.from([...payload, 0])],
    ["a truncated message", payload.subarray(0, -1)],
    ["a length with a leading zero", withBody("f90001c0")],
    ["a short length in the long form", withBody("f801c0")],
    ["a small byte with a header", withBody("c28101")],
    ["a length beyond the end", withBody("fbffffffff")],
    ["lists without end", withBody("c1".repeat(200))],
    ["eight fields", withBody("c88080808080808080")],
    ["a gas limit of nine bytes", tampered(3, new Uint8Array(9).fill(1))],
    ["a gas limit with a leading zero", tampered(3, Uint8Array.of(0, 1))],
    ["a proposer of seven bytes", tampered(4, new Uint8Array(7))],
    ["a payer that is a list", tampered(7, [])],
    ["an authorizer twice", tampered(8, [new Uint8Array(8), new Uint8Array(8)])],
    ["a script that is not UTF-8", tampered(0, Uint8Array.of(0xff, 0xfe))],
    ["an argument that is not JSON", tampered(1, [Uint8Array.of(0x7b)])],
    ["a signature twice", envelope([signature, signature])],
    ["signatures out of order", envelope([[Uint8Array.of(1), ...signature.slice(1)], signature])],
    ["a signer index that names nobody", envelope([[Uint8Array.of(9), ...signature.slice(1)]])],
    ["a short signature", envelope([[Uint8Array.of(), Uint8Array.of(1), new Uint8Array(63)]])],
    ["empty extension data", envelope([[...signature, Uint8Array.of()]])],
    ["five fields in a signature", envelope([[...signature, Uint8Array.of(1), Uint8Array.of(1)]])],
    [
      "an envelope of an envelope",
      Uint8Array.from([...TRANSACTION_TAG, ...encodeRlp([[decodeRlp(payload.subarray(32)), []], []])]),
    ],
  ])("%s is refused", (_, message) => {
    expect(() => decodeMessage(message)).toThrow(InvalidMessageError);
  });
});

describe("RLP", () => {
  const items = fc.letrec<{ item: RlpItem }>((tie) => ({
    item: fc.oneof({ maxDepth: 4 }, fc.uint8Array({ maxLength: 70 }), fc.array(tie("item"), { maxLength: 5 })),
  })).item;

  it("decodes what it encodes, and only that spelling", () => {
    fc.assert(
      fc.property(items, (item) => {
        expect(decodeRlp(encodeRlp(item))).toEqual(item);
      }),
    );
  });

  it("whatever decodes encodes to the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), (bytes) => {
        let item: RlpItem;
        try {
          item = decodeRlp(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(RlpError);
          return;
        }
        expect(encodeRlp(item)).toEqual(bytes);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("the creation template", () => {
  it("names the network's EVM contract and writes keys in lower-case hex", () => {
    expect(createAccountsScript("f8d6e0586b0a20c7")).toMatch(/^import EVM from 0xf8d6e0586b0a20c7\n/);
    const serverKey = generateKeyPair().publicKey;
    const userKey = generateKeyPair("ES256K").publicKey;
    expect(createAccountsArguments([{ serverKey, userKey }])).toEqual([
      `{"type":"Array","value":[{"type":"String","value":"${serverKey.publicKey}"}]}`,
      `{"type":"Array","value":[{"type":"String","value":"${userKey.publicKey}"}]}`,
      '{"type":"Array","value":[{"type":"Bool","value":true}]}',
    ]);
  });
});
