import { bytesToHex } from "@countersign/keys";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeMessage, InvalidMessageError } from "./decode-message.ts";
import { decodeRlp, encodeRlp, type RlpItem } from "./rlp.ts";
import { TRANSACTION_TAG } from "./transaction.ts";
import {
  ACCOUNT_PROOF_TAG,
  accountProofMessage,
  readAccountProof,
  readUserMessage,
  USER_MESSAGE_TAG,
  userMessage,
} from "./user-message.ts";

const proof = { appIdentifier: "https://dapp.example", address: "01cf0e2f2f715450", nonce: "75".repeat(32) };
const utf8 = (text: string) => new TextEncoder().encode(text);
const refused = (work: () => unknown) => expect(work).toThrow(InvalidMessageError);
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]/u;
const isPlain = (text: string) => !INVISIBLE.test(text);

describe("a user message", () => {
  it("is the tag and the text, and reads as it was written", () => {
    const texts = fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(isPlain(text) && utf8(text).length !== 32);
        const signed = userMessage(utf8(text));
        expect(signed.subarray(0, 32)).toEqual(USER_MESSAGE_TAG);
        expect(readUserMessage(signed)).toBe(text);
      }),
    );
    for (const text of ["line one\r\n\tline two", "Zoë 👩‍💻 שלום", "€"]) {
      expect(readUserMessage(userMessage(utf8(text)))).toBe(text);
    }
  });

  it.each([
    ["nothing", ""],
    ["4097 bytes", "x".repeat(4_097)],
    ["more bytes than characters", "€".repeat(1_366)],
    ["NUL", "a\0b"],
    ["an escape sequence", "\x1b[31mred"],
    ["a control character of Latin 1", "a\x85b"],
    ["an override of the direction", "pay \u202e1000"],
    ["an isolate", "pay \u20661000"],
    ["a space without width", "pay\u200b"],
    ["a byte order mark", "\ufeffhello"],
    ["tag characters", "hello\u{e0041}"],
    ["32 bytes, as a hash", "f".repeat(32)],
    ["32 bytes of fewer characters", "é".repeat(16)],
  ])("of %s is not signed", (_, text) => refused(() => readUserMessage(userMessage(utf8(text)))));

  it("has no character that cannot be seen or changes the order of others, nor has an app identifier", () => {
    const isRefused = (work: () => unknown) => {
      try {
        work();
        return false;
      } catch (error) {
        return error instanceof InvalidMessageError;
      }
    };
    const signed: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (!INVISIBLE.test(character) || (code >= 0xd800 && code <= 0xdfff)) continue;
      // Nearly a million are of nobody, all alike.
      if (/[\p{Cn}\p{Co}]/u.test(character) && code % 997 !== 0) continue;
      const text = `a${character}b`;
      if (!isRefused(() => readUserMessage(userMessage(utf8(text))))) signed.push(character);
      const appIdentifier = `https://${text}`;
      if (!isRefused(() => readAccountProof(accountProofMessage({ ...proof, appIdentifier }))))
        signed.push(appIdentifier);
    }
    expect(signed).toEqual(["\t", "\n"]);
    const withHidden = `I agree.${[..."pay"].map((c) => String.fromCodePoint(0xe0100 + c.charCodeAt(0))).join("")}`;
    for (const text of ["one\rtwo", "a\u200d👩", "x\ufe0f", "👩\ufe0f\ufe0f", withHidden])
      refused(() => readUserMessage(userMessage(utf8(text))));
    for (const text of ["❤️", "👩🏽‍💻", "👁️‍🗨️", "🇩🇪"]) expect(readUserMessage(userMessage(utf8(text)))).toBe(text);
  });

  it("is text: no hash, and no account proof without its tag, for any app", () => {
    const texts = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(texts, fc.constantFrom(32, 64, 128), (appIdentifier, length) => {
        const nonce = "41".repeat(length);
        const statement = accountProofMessage({ ...proof, appIdentifier, nonce }).subarray(32);
        refused(() => readUserMessage(userMessage(statement)));
      }),
    );
    refused(() => readUserMessage(userMessage(Uint8Array.of(0xff, 0xfe))));
  });
});

describe("an account proof", () => {
  it("is the tag and the RLP of app, address and nonce, and reads as it was written", () => {
    const signed = accountProofMessage({ ...proof, address: `0x${proof.address}` });
    expect(signed.subarray(0, 32)).toEqual(ACCOUNT_PROOF_TAG);
    const fields = decodeRlp(signed.subarray(32)) as Uint8Array[];
    expect(fields.map(bytesToHex)).toEqual([bytesToHex(utf8(proof.appIdentifier)), proof.address, proof.nonce]);
    expect(readAccountProof(signed)).toEqual(proof);
  });

  it.each([
    ["an empty app", { appIdentifier: "" }],
    ["an app of 257 bytes", { appIdentifier: "x".repeat(257) }],
    ["an app of two lines", { appIdentifier: "https://dapp.example\nhttps://other.example" }],
    ["an app that is shown in another order", { appIdentifier: "https://\u202eelpmaxe" }],
    ["a short address", { address: "01cf0e2f2f7154" }],
    ["a nonce of 31 bytes", { nonce: "75".repeat(31) }],
    ["a nonce of 129 bytes", { nonce: "75".repeat(129) }],
  ])("with %s is not signed", (_, change) =>
    refused(() => readAccountProof(accountProofMessage({ ...proof, ...change }))),
  );

  it.each<[string, RlpItem]>([
    ["two fields", [utf8("app"), new Uint8Array(8)]],
    ["four fields", [utf8("app"), new Uint8Array(8), new Uint8Array(32), new Uint8Array(1)]],
    ["a list as a field", [utf8("app"), [], new Uint8Array(32)]],
    ["no list", utf8("app")],
  ])("of %s is not signed", (_, item) => refused(() => readAccountProof(encodeRlp(item, ACCOUNT_PROOF_TAG))));

  it("with bytes after it is not signed", () => {
    refused(() => readAccountProof(Uint8Array.from([...accountProofMessage(proof), 0])));
  });
});

it("neither is the other, nor a transaction, with any content", () => {
  const message = userMessage(utf8("FLOW-V0.0-transaction"));
  refused(() => readUserMessage(accountProofMessage(proof)));
  refused(() => readAccountProof(message));
  for (const signed of [message, accountProofMessage(proof)]) {
    expect(signed.subarray(0, 32)).not.toEqual(TRANSACTION_TAG);
    refused(() => decodeMessage(signed));
  }
  refused(() => readUserMessage(Uint8Array.from([...TRANSACTION_TAG, ...utf8("hello")])));
});
