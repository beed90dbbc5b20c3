import { randomInt } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { bytesToHex } from "@countersign/keys";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { fuzzInput, Random, type ValidMessage } from "../testing/fuzz-inputs.ts";
import { transactions } from "../testing/transactions.ts";
import { decodeMessage, InvalidMessageError, MAX_MESSAGE_BYTES } from "./decode-message.ts";
import { concatBytes, decodeRlp, encodeInteger } from "./rlp.ts";
import { envelopeMessage, payloadMessage, TRANSACTION_TAG } from "./transaction.ts";

const RUNS = Number(process.env.FUZZ_RUNS ?? 200_000);
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(1, 2 ** 31));
const CHUNK = 20_000;
/** The longest time for any one message, in milliseconds on a busy machine. */
const SLOW_MS = 2_000;

const validMessages = (seed: number): ValidMessage[] =>
  fc
    .sample(transactions, { numRuns: 40, seed })
    .flatMap((tx) => [payloadMessage(tx), envelopeMessage(tx)])
    .map((bytes) => ({ bytes, tree: decodeRlp(bytes.subarray(TRANSACTION_TAG.length)) }));

/**
 * Returns whether the message was accepted; an accepted message has exactly one encoding. Throws for any
 * error but the rejection.
 */
function feed(message: Uint8Array): boolean {
  let decoded: ReturnType<typeof decodeMessage>;
  try {
    decoded = decodeMessage(message);
  } catch (error) {
    if (error instanceof InvalidMessageError) return false;
    throw new Error(`${bytesToHex(message.subarray(0, 2_000))} threw`, { cause: error });
  }
  const again = decoded.kind === "payload" ? payloadMessage(decoded) : envelopeMessage(decoded);
  if (Buffer.compare(again, message) !== 0) throw new Error(`${bytesToHex(message)} has a non-canonical encoding`);
  return true;
}

describe("random messages", () => {
  it(`${RUNS} of them are read or refused, and nothing else (FUZZ_SEED=${SEED})`, {
    timeout: 60_000 + RUNS / 10,
  }, async () => {
    console.log(`fuzzing the decoder: FUZZ_RUNS=${RUNS} FUZZ_SEED=${SEED}`);
    const valid = validMessages(SEED);
    const random = new Random(SEED);
    // Most inputs are refused by an error whose stack nobody reads: collecting it is half of the time.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    onTestFinished(() => {
      Error.stackTraceLimit = stackTraceLimit;
    });
    let read = 0;
    for (let done = 0; done < RUNS; ) {
      const started = performance.now();
      for (const end = Math.min(done + CHUNK, RUNS); done < end; done++) if (feed(fuzzInput(random, valid))) read++;
      expect(performance.now() - started).toBeLessThan(SLOW_MS * 10);
      await nextTurn();
    }
    // A fuzzer that is always or never refused tries only one half of the decoder.
    expect(read).toBeGreaterThan(RUNS / 1000);
    expect(read).toBeLessThan(RUNS / 2);
  });

  const body = (length: number, fill: (at: number) => number) =>
    Uint8Array.from({ length }, (_, at) => TRANSACTION_TAG[at] ?? fill(at - TRANSACTION_TAG.length));

  it.each<[string, Uint8Array]>([
    ["lists in lists", nestedLists()],
    ["headers of lists", body(MAX_MESSAGE_BYTES, () => 0xc1)],
    ["lists of unbounded length", body(MAX_MESSAGE_BYTES, () => 0xff)],
    ["long lists that promise more", body(MAX_MESSAGE_BYTES, (at) => [0xf9, 0xff, 0xff][at % 3]!)],
    ["one list of empty strings", body(MAX_MESSAGE_BYTES, (at) => [0xfa, 0x03, 0xff, 0xdc][at] ?? 0x80)],
    ["one list of empty lists", body(MAX_MESSAGE_BYTES, (at) => [0xfa, 0x03, 0xff, 0xdc][at] ?? 0xc0)],
    ["more than the limit", new Uint8Array(MAX_MESSAGE_BYTES + 1)],
    ["an argument of brackets", nestedArgument()],
  ])("the largest message of %s is answered at once", (_, message) => {
    const started = performance.now();
    feed(message);
    expect(performance.now() - started).toBeLessThan(SLOW_MS);
  });
});

/** Nests lists as deep as a message allows, every length right. */
function nestedLists(): Uint8Array {
  const capacity = MAX_MESSAGE_BYTES - TRANSACTION_TAG.length;
  const headers: Uint8Array[] = [Uint8Array.of(0xc0)];
  for (let length = 1; length + 5 <= capacity; length += headers.at(-1)!.length) {
    const digits = encodeInteger(length);
    headers.push(length < 56 ? Uint8Array.of(0xc0 + length) : Uint8Array.of(0xf7 + digits.length, ...digits));
  }
  return concatBytes(TRANSACTION_TAG, ...headers.reverse());
}

/** Returns a payload whose only argument is JSON nested as deep as a message allows. */
function nestedArgument(): Uint8Array {
  const depth = 120_000;
  const [tx] = fc.sample(transactions, { numRuns: 1, seed: 1 });
  return payloadMessage({ ...tx!, script: "", arguments: ["[".repeat(depth) + "]".repeat(depth)] });
}
