import { type AccountProof, accountProofMessage, envelopeMessage, userMessage } from "@countersign/flow";
import { attestationHash, attestationText, bytesToHex, publicKeyFingerprint } from "@countersign/keys";
import { ADDRESS, ALGORITHMS, device, other, PAYMASTER, publicKeyOf, SECRETS, sign, utf8 } from "./test-keys.ts";
import { addition, greeting, hexMessage, signed } from "./transactions.ts";

const hexOf = (text: string): string => bytesToHex(utf8(text));

const REFRESH_TOKEN = "eyJhbGciOiJFUzI1NiJ9.eyJqdGkiOiJhIn0.c2lnbmF0dXJl";
const CHALLENGE = "000102030405060708090a0b0c0d0e0f";

/** Every message that a device signs, by its purpose. */
const SIGNED_MESSAGES: [purpose: string, message: string][] = [
  ["challenge of a sign-in", CHALLENGE],
  ["refresh proof", hexOf(`countersign-token-refresh\n${REFRESH_TOKEN}`)],
  ["payload of a transaction", hexMessage(greeting)],
  ["envelope of a transaction", bytesToHex(envelopeMessage(signed(greeting)))],
  ["approval of an enrollment", hexMessage(addition(other))],
  ["user message", bytesToHex(userMessage(utf8("I agree to the terms. 🦊")))],
  ["account proof", bytesToHex(accountProofMessage({ appIdentifier: "a", address: ADDRESS, nonce: "75".repeat(32) }))],
];

const PROOFS: AccountProof[] = [
  { appIdentifier: "https://my-app.example", address: ADDRESS, nonce: "75".repeat(32) },
  { appIdentifier: "Ada's wallet é", address: PAYMASTER, nonce: "00".repeat(128) },
];

const REFUSED_PROOFS: [change: Partial<AccountProof>, why: string][] = [
  [{ appIdentifier: "" }, "no app identifier"],
  [{ appIdentifier: "é".repeat(129) }, "an app identifier of 258 bytes"],
  [{ appIdentifier: "my\u3164app" }, "a filler in the app identifier"],
  [{ appIdentifier: "my\u{1d159}app" }, "a blank in the app identifier"],
  [{ appIdentifier: "my app\n" }, "a line end in the app identifier"],
  [{ address: ADDRESS.slice(2) }, "an address of seven bytes"],
  [{ nonce: "75".repeat(31) }, "a nonce of 31 bytes"],
  [{ nonce: "75".repeat(129) }, "a nonce of 129 bytes"],
];

/** Strict DER of a raw signature (X.690). */
function derOf(raw: Uint8Array): string {
  const integer = (bytes: Uint8Array) => {
    let start = 0;
    while (start < 31 && bytes[start] === 0) start += 1;
    const digits = bytes.subarray(start);
    const value = digits[0]! & 0x80 ? [0, ...digits] : [...digits];
    return [2, value.length, ...value];
  };
  const body = [...integer(raw.subarray(0, 32)), ...integer(raw.subarray(32))];
  return bytesToHex(Uint8Array.from([0x30, body.length, ...body]));
}

const RAW_SIGNATURES = [
  sign("ES256", utf8("message")),
  Uint8Array.from([...new Uint8Array(31), 1, ...new Uint8Array(31), 0x80]),
  new Uint8Array(64).fill(0xff),
];

const REFUSED_DER: [hex: string, why: string][] = [
  ["", "empty"],
  ["3006020101020101ff", "a byte after it"],
  ["300602018102010100", "a negative integer"],
  ["300702020001020101", "an integer with a leading zero"],
  [`3026022101${"00".repeat(32)}020101`, "an integer of 33 bytes"],
  ["3005020002010100", "an empty integer"],
];

/** Returns the vectors of the texts that apps have attested. */
export const attestationVectors = () => ({
  attestations: (["sign-up", "enrollment"] as const).map((operation) => {
    const keys = { accountKey: device, deviceKey: publicKeyOf("EdDSA") };
    const request = { operation, chainName: "flow-emulator", loginToken: "eyJ.töken", ...keys };
    return { ...request, text: attestationText(request), hash: bytesToHex(attestationHash(request)) };
  }),
});

/** Returns the vectors of keys, and of all that they sign. */
export const signatureVectors = () => ({
  keys: ALGORITHMS.map((algorithm) => ({
    ...publicKeyOf(algorithm),
    secret: SECRETS[algorithm],
    fingerprint: publicKeyFingerprint(publicKeyOf(algorithm)),
  })),
  refusedKeys: [
    { algorithm: "ES256", publicKey: "" },
    { algorithm: "ES256", publicKey: `04${device.publicKey}` },
    { algorithm: "ES256", publicKey: device.publicKey.toUpperCase() },
    { algorithm: "ES256", publicKey: publicKeyOf("EdDSA").publicKey },
    { algorithm: "EdDSA", publicKey: device.publicKey },
    { algorithm: "RS256", publicKey: device.publicKey },
  ],
  signatures: ALGORITHMS.flatMap((algorithm) =>
    SIGNED_MESSAGES.map(([purpose, message]) => ({
      purpose,
      ...publicKeyOf(algorithm),
      message,
      signature: bytesToHex(sign(algorithm, Uint8Array.from(Buffer.from(message, "hex")))),
    })),
  ),
  refreshProof: { refreshToken: REFRESH_TOKEN, message: hexOf(`countersign-token-refresh\n${REFRESH_TOKEN}`) },
  challenge: {
    challengeData: CHALLENGE,
    signed: CHALLENGE,
    refused: ["", "00".repeat(15), "00".repeat(17), "00".repeat(32), "zz".repeat(16)],
  },
  der: RAW_SIGNATURES.map((raw) => ({ raw: bytesToHex(raw), der: derOf(raw) })),
  refusedDer: REFUSED_DER.map(([der, why]) => ({ der, why })),
});

const HIDDEN = ["\u0007", "\u202e", "\u200b", "\u2800", "\u{13441}", "\u{13442}", "\u{16fe4}", "\u{1d159}"];

/** Returns the vectors of messages that a person or an app reads. */
export const userMessageVectors = () => ({
  userMessages: ["I agree", "Two\nlines\tand é 🦊"].map((text) => ({
    text,
    message: bytesToHex(userMessage(utf8(text))),
  })),
  refusedUserMessages: ["", "x".repeat(32), "x".repeat(4_097), ...HIDDEN.map((hidden) => `a${hidden}b`)],
  accountProofs: PROOFS.map((proof) => ({ proof, message: bytesToHex(accountProofMessage(proof)) })),
  refusedAccountProofs: REFUSED_PROOFS.map(([change, why]) => ({ proof: { ...PROOFS[0]!, ...change }, why })),
});
