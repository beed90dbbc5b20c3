import { bytesToHex } from "@countersign/keys";
import { encodeTransactionEnvelope, encodeTransactionPayload } from "@onflow/sdk";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sdkTransactionOf, transactions } from "../testing/transactions.ts";
import { type DecodedMessage, decodeMessage, InvalidMessageError } from "./decode-message.ts";
import { concatBytes } from "./rlp.ts";
import { envelopeMessage, payloadMessage } from "./transaction.ts";

/** Returns the decoded message, or "refused" if it was. Anything else that is thrown fails the test. */
function outcome(message: Uint8Array): DecodedMessage | "refused" {
  try {
    return decodeMessage(message);
  } catch (error) {
    if (error instanceof InvalidMessageError) return "refused";
    throw new Error(`${bytesToHex(message)} threw something else`, { cause: error });
  }
}

const encode = (decoded: DecodedMessage): Uint8Array =>
  decoded.kind === "payload" ? payloadMessage(decoded) : envelopeMessage(decoded);

const canonicalText = (decoded: DecodedMessage): string =>
  JSON.stringify(decoded, (_, value) => (typeof value === "bigint" ? `${value}n` : value));

/** A changed message is refused, or says something else, and what it says has exactly those bytes. */
function checkChanged(before: string, original: Uint8Array, changed: Uint8Array): void {
  if (Buffer.compare(original, changed) === 0) return;
  const after = outcome(changed);
  if (after === "refused") return;
  if (canonicalText(after) === before) throw new Error(`${bytesToHex(changed)} says the same as the original`);
  if (Buffer.compare(encode(after), changed) !== 0)
    throw new Error(`${bytesToHex(changed)} has a non-canonical encoding`);
}

function checkEveryChange(message: Uint8Array, values: (byte: number) => Iterable<number>): void {
  const before = canonicalText(decodeMessage(message));
  const replaced = message.slice();
  for (let at = 0; at < message.length; at++) {
    const byte = message[at]!;
    for (const value of values(byte)) {
      replaced[at] = value;
      checkChanged(before, message, replaced);
    }
    replaced[at] = byte;
    checkChanged(before, message, concatBytes(message.subarray(0, at), message.subarray(at + 1)));
  }
  const longer = new Uint8Array(message.length + 1);
  for (let at = 0; at <= message.length; at++) {
    longer.set(message.subarray(0, at), 0);
    longer.set(message.subarray(at), at + 1);
    for (const value of values(message[at] ?? 0)) {
      longer[at] = value;
      checkChanged(before, message, longer);
    }
  }
}

const allBytes = Array.from({ length: 256 }, (_, value) => value);
const changedBytes = (byte: number) => [
  byte ^ 1,
  byte ^ 0x80,
  (byte + 1) & 255,
  (byte - 1) & 255,
  0,
  0x7f,
  0x80,
  0xc0,
  0xff,
];

describe("the decoder against Flow's own encoder", () => {
  it("has the same bytes, and reads them back", () => {
    fc.assert(
      fc.property(transactions, (tx) => {
        const payload = payloadMessage(tx);
        const envelope = envelopeMessage(tx);
        expect(bytesToHex(payload)).toBe(encodeTransactionPayload(sdkTransactionOf(tx) as never));
        expect(bytesToHex(envelope)).toBe(encodeTransactionEnvelope(sdkTransactionOf(tx) as never));
        const { payloadSignatures, envelopeSignatures: _, ...fields } = tx;
        expect(decodeMessage(payload)).toEqual({ kind: "payload", ...fields, payloadSignatures: [] });
        const decoded = decodeMessage(envelope);
        expect(decoded).toMatchObject({ kind: "envelope", ...fields });
        expect(new Set(decoded.payloadSignatures)).toEqual(new Set(payloadSignatures));
        expect(encode(decoded)).toEqual(envelope);
      }),
      { numRuns: 600 },
    );
  });

  it("every change of one byte, every byte left out and every byte put in is seen", { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(transactions, (tx) => {
        checkEveryChange(payloadMessage(tx), changedBytes);
        checkEveryChange(envelopeMessage(tx), changedBytes);
      }),
      { numRuns: 12 },
    );
  });

  it("so is each of the 255 other values and 256 new bytes at every place of small messages", {
    timeout: 60_000,
  }, () => {
    const small = {
      script: "a",
      arguments: ["1"],
      referenceBlockId: "ab".repeat(32),
      gasLimit: 128n,
      proposalKey: { address: "01cf0e2f2f715450", keyId: 1, sequenceNumber: 0n },
      payer: "179b6b1cb6755e31",
      authorizers: ["01cf0e2f2f715450"],
      envelopeSignatures: [],
    };
    const signature = { address: "01cf0e2f2f715450", keyId: 1, signature: "5a".repeat(64) };
    checkEveryChange(payloadMessage(small), () => allBytes);
    checkEveryChange(envelopeMessage({ ...small, payloadSignatures: [] }), () => allBytes);
    checkEveryChange(envelopeMessage({ ...small, payloadSignatures: [signature] }), () => allBytes);
    const extended = [
      { ...signature, extensionData: "01" },
      { ...signature, address: small.payer, extensionData: "8001" },
    ];
    checkEveryChange(envelopeMessage({ ...small, payloadSignatures: extended }), () => allBytes);
  });
});
