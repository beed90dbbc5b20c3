import { randomBytes } from "node:crypto";
import { type AuthenticationResponseJSON, verifyAuthenticationResponse } from "@simplewebauthn/server";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { base64urlToBytes, bytesToBase64url } from "../base64url.ts";
import { hexToBytes } from "../hex.ts";
import { verifyAssertion } from "../node.ts";
import { clientDataOf, simulatedPasskey, TEST_RELYING_PARTY, USUAL_FLAGS } from "../testing/simulated-authenticator.ts";
import type { Assertion } from "./assertion.ts";
import { PasskeyError } from "./passkey-error.ts";
import { isOrigin, isRpId } from "./relying-party.ts";

const passkey = simulatedPasskey();
const other = simulatedPasskey();
const challenge = randomBytes(16);
const good = passkey.assert(challenge);

function verified(assertion: Assertion): boolean {
  try {
    verifyAssertion(passkey.publicKey, assertion, { login: challenge }, [TEST_RELYING_PARTY]);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(PasskeyError);
    return false;
  }
}

/** Returns the key as credentials carry it: a COSE map of kty EC2, alg ES256, crv P-256, x and y. */
const cose = (key: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from([
    ...[0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20, ...hexToBytes(key.slice(0, 64))],
    ...[0x22, 0x58, 0x20, ...hexToBytes(key.slice(64))],
  ]);

/** Returns the verdict of another implementation of WebAuthn. */
async function otherwiseVerified({ clientDataJSON, authenticatorData, signature }: Assertion): Promise<boolean> {
  const id = bytesToBase64url(Buffer.from("synthetic"));
  const response: AuthenticationResponseJSON = {
    id,
    rawId: id,
    type: "public-key",
    clientExtensionResults: {},
    response: {
      clientDataJSON: bytesToBase64url(clientDataJSON),
      authenticatorData: bytesToBase64url(authenticatorData),
      signature: bytesToBase64url(signature),
    },
  };
  try {
    const { verified } = await verifyAuthenticationResponse({
      response,
      expectedChallenge: bytesToBase64url(challenge),
      expectedOrigin: [...TEST_RELYING_PARTY.origins],
      expectedRPID: TEST_RELYING_PARTY.rpId,
      credential: { id, publicKey: cose(passkey.publicKey.publicKey), counter: 0 },
      requireUserVerification: true,
    });
    return verified;
  } catch {
    return false;
  }
}

const flipped = (bytes: Uint8Array, at: number, by: number): Uint8Array => {
  const changed = Uint8Array.from(bytes);
  changed[at % bytes.length]! ^= by;
  return changed;
};

describe("assertions", () => {
  it("are refused for any byte that is another one, and never throw anything else", () => {
    const parts = fc.constantFrom("clientDataJSON" as const, "authenticatorData" as const, "signature" as const);
    fc.assert(
      fc.property(parts, fc.nat(), fc.integer({ min: 1, max: 255 }), (part, at, by) => {
        expect(verified({ ...good, [part]: flipped(good[part], at, by) })).toBe(false);
      }),
      { numRuns: 500 },
    );
    const anything = fc.uint8Array({ maxLength: 200 });
    fc.assert(
      fc.property(anything, anything, anything, (clientDataJSON, authenticatorData, signature) => {
        expect(verified({ clientDataJSON, authenticatorData, signature })).toBe(false);
        expect(verified({ ...good, clientDataJSON })).toBe(false);
        expect(verified({ ...good, authenticatorData })).toBe(false);
      }),
    );
  });

  it("that are verified here are verified by another implementation as well", async () => {
    expect(await otherwiseVerified(good)).toBe(true);
    const json = fc
      .dictionary(fc.constantFrom("type", "crossOrigin", "x", "y", "Origin"), fc.jsonValue({ maxDepth: 1 }))
      .map((client) => clientDataOf(challenge, { client }));
    const said = fc.record(
      {
        rpId: fc.constantFrom(TEST_RELYING_PARTY.rpId, "example.com"),
        flags: fc.oneof(fc.constantFrom(USUAL_FLAGS, 0x05, 0x9d), fc.nat(255)),
        signCount: fc.nat(0xffff_ffff),
        extensions: fc.oneof(fc.constant(Uint8Array.of(0xa0)), fc.uint8Array({ maxLength: 8 })),
        clientDataJSON: json,
      },
      { requiredKeys: [] },
    );
    let both = 0;
    await fc.assert(
      fc.asyncProperty(said, fc.integer({ min: 0, max: 9 }), async (change, who) => {
        const assertion = (who === 0 ? other : passkey).assert(challenge, change);
        if (!verified(assertion)) return;
        both++;
        expect(await otherwiseVerified(assertion)).toBe(true);
      }),
      { numRuns: 1000 },
    );
    expect(both).toBeGreaterThan(4);
  });
});

describe("base64url", () => {
  it("has one spelling for all bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const text = bytesToBase64url(bytes);
        expect(text).toBe(Buffer.from(bytes).toString("base64url"));
        expect(base64urlToBytes(text)).toEqual(bytes);
      }),
    );
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), (text) => {
        let bytes: Uint8Array;
        try {
          bytes = base64urlToBytes(text);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          return;
        }
        expect(bytesToBase64url(bytes)).toBe(text);
      }),
    );
  });
});

describe("relying parties", () => {
  it.each(["example.com", "localhost", "a.b-c.example", "xn--bcher-kva.example"])("%s may be an id", (text) => {
    expect(isRpId(text)).toBe(true);
  });
  it.each([
    "",
    "127.0.0.1",
    "Example.com",
    "example.com.",
    "-a.example",
    "https://example.com",
    "a b",
    "a..b",
    "[::1]",
  ])("%j may not", (text) => {
    expect(isRpId(text)).toBe(false);
  });
  it.each([
    ["https://example.com", "example.com"],
    ["https://wallet.example.com:8443", "example.com"],
    ["http://localhost:8080", "localhost"],
    ["https://localhost", "localhost"],
    [`android:apk-key-hash:${"a".repeat(43)}`, "example.com"],
    ["ios:bundle-id:com.example.wallet", "example.com"],
  ])("%s may be an origin of %s", (origin, rpId) => {
    expect(isOrigin(origin, rpId)).toBe(true);
  });
  it.each([
    ["http://example.com", "example.com"],
    ["https://notexample.com", "example.com"],
    ["https://example.com.evil.example", "example.com"],
    ["https://example.com/", "example.com"],
    ["https://user@example.com", "example.com"],
    ["https://example.com", "wallet.example.com"],
    ["http://localhost.example.com", "example.com"],
    ["https://*.example.com", "example.com"],
    ["android:apk-key-hash:short", "example.com"],
    ["null", "example.com"],
    ["", "example.com"],
  ])("%s may not be an origin of %s", (origin, rpId) => {
    expect(isOrigin(origin, rpId)).toBe(false);
  });
});
