import { randomBytes } from "node:crypto";
import { bytesToHex, challengeOf, type RelyingParty } from "@countersign/keys";
import { signMessage } from "@countersign/keys/node";
import { clientDataOf, simulatedPasskey, TEST_RELYING_PARTY } from "@countersign/keys/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { verifyUserSignature } from "../node.ts";
import { ExtensionDataError, passkeySignature, readPasskeySignature } from "./passkey-signature.ts";
import { encodeRlp } from "./rlp.ts";
import { TRANSACTION_TAG } from "./transaction.ts";

const passkey = simulatedPasskey();
const message = Buffer.concat([TRANSACTION_TAG, randomBytes(100)]);
const good = passkeySignature(passkey.assert(challengeOf({ transaction: message })));
const verifies = (
  signed: { signature: string; extensionData?: string },
  { of = message as Uint8Array, parties = [TEST_RELYING_PARTY] as RelyingParty[] } = {},
) => verifyUserSignature(passkey.publicKey, of, signed, parties);

describe("a passkey's signature in a transaction", () => {
  it("is the raw signature, and scheme 1 with both parts of what was signed", () => {
    const assertion = passkey.assert(challengeOf({ transaction: message }));
    const { signature, extensionData } = passkeySignature(assertion);
    expect(signature).toMatch(/^[0-9a-f]{128}$/);
    const { authenticatorData, clientDataJSON } = assertion;
    expect(extensionData).toBe(`01${bytesToHex(encodeRlp([authenticatorData, clientDataJSON]))}`);
    expect(readPasskeySignature(signature, extensionData)).toEqual({
      authenticatorData: new Uint8Array(authenticatorData),
      clientDataJSON: new Uint8Array(clientDataJSON),
      signature: new Uint8Array(Buffer.from(signature, "hex")),
    });
  });

  it("is verified like a plain one, and both only over their own message", () => {
    expect(verifies(good)).toBe(true);
    expect(verifies(good, { of: Buffer.concat([message, Buffer.of(0)]) })).toBe(false);
    expect(verifies({ signature: good.signature })).toBe(false);
    const plain = bytesToHex(signMessage(passkey.privateKey, message));
    expect(verifies({ signature: plain })).toBe(true);
    expect(verifies({ ...good, signature: plain })).toBe(false);
  });

  it("is refused where nobody is a relying party", () => {
    expect(verifies(good, { parties: [] })).toBe(false);
  });

  it("is refused where it answered a login", () => {
    const login = randomBytes(16);
    const answered = passkeySignature(passkey.assert(login));
    expect(verifies(answered)).toBe(false);
    expect(verifies(answered, { of: login })).toBe(false);
  });

  it.each<[string, (extension: string) => string]>([
    ["no scheme", (extension) => extension.slice(2)],
    ["the scheme of plain signatures", (extension) => `00${extension.slice(2)}`],
    ["a scheme to come", (extension) => `02${extension.slice(2)}`],
    ["the scheme alone", () => "01"],
    ["an empty list", () => "01c0"],
    ["bytes behind the list", (extension) => `${extension}00`],
    ["bytes in the place of the list", (extension) => `01${bytesToHex(encodeRlp(Buffer.from(extension, "hex")))}`],
    ["a third part", () => `01${bytesToHex(encodeRlp([new Uint8Array(37), new Uint8Array(9), new Uint8Array(1)]))}`],
    ["a list inside", () => `01${bytesToHex(encodeRlp([[new Uint8Array(37)], new Uint8Array(9)]))}`],
    [
      "its parts exchanged",
      () => {
        const { authenticatorData, clientDataJSON } = passkey.assert(challengeOf({ transaction: message }));
        return `01${bytesToHex(encodeRlp([clientDataJSON, authenticatorData]))}`;
      },
    ],
    ["other client data", () => `01${bytesToHex(encodeRlp([new Uint8Array(37), clientDataOf(randomBytes(32))]))}`],
  ])("is refused with %s", (_, change) => {
    expect(verifies({ ...good, extensionData: change(good.extensionData) })).toBe(false);
  });

  it("is refused, and throws nothing, for any extension data", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (bytes) => {
        expect(verifies({ ...good, extensionData: bytesToHex(bytes) })).toBe(false);
        expect(verifies({ ...good, extensionData: `01${bytesToHex(bytes)}` })).toBe(false);
        try {
          readPasskeySignature(good.signature, bytesToHex(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(ExtensionDataError);
        }
      }),
    );
  });
});
