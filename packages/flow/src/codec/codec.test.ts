import { hexToBytes } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAccountsArguments, createAccountsScript } from "../templates/create-accounts.ts";
import { decodeMessage, InvalidMessageError } from "./decode-message.ts";
import { decodeRlp, encodeRlp, RlpError, type RlpItem } from "./rlp.ts";
import { type FlowTransaction, payloadMessage, TRANSACTION_TAG } from "./transaction.ts";

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

/** Returns the sample's payload with one field replaced. */
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
      "a quarter of a million arguments",
      tampered(
        1,
        Array.from({ length: 250_000 }, () => Uint8Array.of(0x31)),
      ),
    ],
    [
      "a thousand authorizers",
      tampered(
        8,
        Array.from({ length: 1000 }, (_, i) => hexToBytes(String(i).padStart(16, "0"))),
      ),
    ],
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

  it("decodes a thousand items and no more: each costs far more than its byte", () => {
    const list = (length: number) => encodeRlp(Array.from({ length }, () => Uint8Array.of(1)));
    expect(decodeRlp(list(999))).toHaveLength(999);
    expect(() => decodeRlp(list(1000))).toThrow(RlpError);
  });

  it("every value that decodes encodes to the same bytes", () => {
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
