import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { describeKeyAddition, matchingCode, readKeyAddition, type ShownTwoFactor } from "@countersign/client";
import {
  type AccountProof,
  accountProofMessage,
  addUserKeyPayload,
  type CadenceValue,
  cadenceAddress,
  cadenceArray,
  cadenceBool,
  cadenceInt,
  cadenceString,
  cadenceUFix64,
  describeTemplates,
  encodeCadence,
  encodeRlp,
  envelopeMessage,
  type FlowTransaction,
  type KeyChange,
  keyChangeArguments,
  payloadMessage,
  type RlpItem,
  type TransactionPayload,
  transactionId,
  userMessage,
} from "@countersign/flow";
import { bytesToHex, type KeyAlgorithm, type PublicKey, publicKeyFingerprint } from "@countersign/keys";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";

/** The one file of test vectors that TypeScript, Kotlin and Swift compare their codecs with. */
export const VECTORS_FILE = join(root, "clients/vectors.json");

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const hexOf = (text: string): string => bytesToHex(utf8(text));

/** Keys of known secrets: for tests only. */
const SECRETS: Record<KeyAlgorithm, string> = {
  ES256: "01".repeat(32),
  ES256K: "02".repeat(32),
  EdDSA: "03".repeat(32),
};
const secretOf = (algorithm: KeyAlgorithm): Uint8Array => Uint8Array.from(Buffer.from(SECRETS[algorithm], "hex"));

function publicKeyOf(algorithm: KeyAlgorithm): PublicKey {
  const secret = secretOf(algorithm);
  if (algorithm === "EdDSA") return { algorithm, publicKey: bytesToHex(ed25519.getPublicKey(secret)) };
  const curve = algorithm === "ES256" ? p256 : secp256k1;
  return { algorithm, publicKey: bytesToHex(curve.getPublicKey(secret, false).subarray(1)) };
}

/** Signs with nonces of RFC 6979, so that the file is the same each time. */
function sign(algorithm: KeyAlgorithm, message: Uint8Array): Uint8Array {
  const secret = secretOf(algorithm);
  if (algorithm === "EdDSA") return ed25519.sign(message, secret);
  return (algorithm === "ES256" ? p256 : secp256k1).sign(message, secret);
}

const ALGORITHMS = Object.keys(SECRETS) as KeyAlgorithm[];
const device = publicKeyOf("ES256");
const other = publicKeyOf("ES256K");
const ADDRESS = "01cf0e2f2f715450";
const PAYMASTER = "179b6b1cb6755e31";
const STRANGE = "f8d6e0586b0a20c7";

/** Returns an item of RLP with its bytes in hex, as JSON has it. */
type Hex = string | Hex[];
const hexItem = (item: RlpItem): Hex => (item instanceof Uint8Array ? bytesToHex(item) : item.map(hexItem));

const RLP_ITEMS: RlpItem[] = [
  new Uint8Array(),
  Uint8Array.of(0),
  Uint8Array.of(0x7f),
  Uint8Array.of(0x80),
  utf8("dog"),
  new Uint8Array(55).fill(1),
  new Uint8Array(56).fill(1),
  new Uint8Array(256).fill(2),
  [],
  [utf8("cat"), utf8("dog")],
  [[], [[]], [[], [[]]]],
  Array.from({ length: 30 }, () => utf8("ab")),
];

const REFUSED_RLP: [hex: string, why: string][] = [
  ["", "an item is missing"],
  ["8101", "a small byte with a header"],
  ["b800", "a short length in the long form"],
  ["b90038", "a length with a leading zero"],
  ["83646f", "an item runs out of the message"],
  ["c283", "an item runs out of its list"],
  ["0101", "bytes after the item"],
  ["bc0000000001", "a length of more than four bytes"],
  ["c8c7c6c5c4c3c2c1c0", "lists nest too deep"],
];

const CADENCE: CadenceValue[] = [
  cadenceString("hello"),
  cadenceString('a "quote", a \\ and a line\nwith a tab\t'),
  cadenceString("\u0000\u0001\u001f\u007f\u2028\u2029 é 🦊 </script>"),
  cadenceBool(true),
  cadenceBool(false),
  cadenceAddress(ADDRESS),
  cadenceUFix64("1.50000000"),
  cadenceInt(10n ** 30n),
  cadenceArray([cadenceString("Ada"), cadenceArray([])]),
];

const GREETING = `transaction(text: String) {
  prepare(account: auth(SaveValue) &Account) {
    account.storage.save(text, to: /storage/greeting)
  }
}`;

const greeting: TransactionPayload = {
  script: GREETING,
  arguments: [encodeCadence(cadenceString("hello é 🦊"))],
  referenceBlockId: "ab".repeat(32),
  gasLimit: 1000n,
  proposalKey: { address: ADDRESS, keyId: 1, sequenceNumber: 7n },
  payer: PAYMASTER,
  authorizers: [ADDRESS],
};

const signature = (address: string, keyId: number, message: Uint8Array) => ({
  address,
  keyId,
  signature: bytesToHex(sign("ES256", message)),
});

/** Returns the payload with the signatures of device, server and paymaster, all by the same test key. */
function signed(payload: TransactionPayload): FlowTransaction {
  const message = payloadMessage(payload);
  const [account] = payload.authorizers;
  // Out of order on purpose: the encoding sorts them.
  const payloadSignatures = [signature(account!, 1, message), signature(account!, 0, message)];
  const envelope = envelopeMessage({ ...payload, payloadSignatures });
  return { ...payload, payloadSignatures, envelopeSignatures: [signature(payload.payer, 3, envelope)] };
}

const addition = (userKey: PublicKey, change: Partial<TransactionPayload> = {}): TransactionPayload => ({
  ...addUserKeyPayload(userKey, {
    account: ADDRESS,
    referenceBlockId: "cd".repeat(32),
    proposalKey: { address: ADDRESS, keyId: 0, sequenceNumber: 300n },
    payer: PAYMASTER,
  }),
  ...change,
});

const TRANSACTIONS: [name: string, transaction: FlowTransaction][] = [
  ["a greeting, sponsored", signed(greeting)],
  ["the addition of a user key", signed(addition(other))],
  ["the account pays itself", signed({ ...greeting, payer: ADDRESS, gasLimit: 9999n })],
  [
    "a passkey's signature with extension data",
    {
      ...signed(greeting),
      payloadSignatures: [
        { address: ADDRESS, keyId: 1, signature: "5a".repeat(64), extensionData: `01${"a5".repeat(60)}` },
        { address: ADDRESS, keyId: 0, signature: "6b".repeat(64) },
      ],
    },
  ],
  [
    "no arguments, large numbers",
    signed({
      ...greeting,
      script: "",
      arguments: [],
      gasLimit: 0n,
      proposalKey: { address: ADDRESS, keyId: 70_000, sequenceNumber: 2n ** 63n - 1n },
    }),
  ],
];

/** JSON knows no integers of 64 bits that every parser keeps. */
const transactionJson = (transaction: TransactionPayload) => ({
  ...transaction,
  gasLimit: String(transaction.gasLimit),
  proposalKey: { ...transaction.proposalKey, sequenceNumber: String(transaction.proposalKey.sequenceNumber) },
});

const hexMessage = (payload: TransactionPayload): string => bytesToHex(payloadMessage(payload));

/** Messages that are no transaction in canonical encoding. */
function refusedMessages(): { message: string; why: string }[] {
  const good = hexMessage(greeting);
  const withItems = (change: (items: RlpItem[]) => RlpItem) => {
    const items: RlpItem[] = [
      utf8(greeting.script),
      greeting.arguments.map(utf8),
      new Uint8Array(32).fill(0xab),
      Uint8Array.of(3, 0xe8),
      Uint8Array.from(Buffer.from(ADDRESS, "hex")),
      Uint8Array.of(1),
      Uint8Array.of(7),
      Uint8Array.from(Buffer.from(PAYMASTER, "hex")),
      [Uint8Array.from(Buffer.from(ADDRESS, "hex"))],
    ];
    return good.slice(0, 64) + bytesToHex(encodeRlp(change(items)));
  };
  const replaced = (index: number, item: RlpItem) => withItems((items) => items.with(index, item));
  return [
    { message: "", why: "empty" },
    { message: good.slice(64), why: "no domain tag" },
    { message: `00${good.slice(2)}`, why: "another domain tag" },
    { message: bytesToHex(userMessage(utf8("I agree"))), why: "a user message" },
    { message: `${good}00`, why: "a byte after it" },
    { message: good.slice(0, -2), why: "a byte is missing" },
    { message: withItems((items) => items.slice(1)), why: "eight fields" },
    { message: withItems((items) => [...items, new Uint8Array()]), why: "ten fields" },
    { message: replaced(0, Uint8Array.of(0xff)), why: "the script is not UTF-8" },
    { message: replaced(1, [utf8("hello")]), why: "an argument is not JSON" },
    { message: replaced(2, new Uint8Array(31)), why: "the reference block has 31 bytes" },
    { message: replaced(3, Uint8Array.of(0, 1)), why: "the gas limit has a leading zero" },
    { message: replaced(6, new Uint8Array(9).fill(1)), why: "the sequence number has nine bytes" },
    { message: replaced(7, new Uint8Array(7)), why: "the payer has seven bytes" },
    { message: replaced(8, new Uint8Array(8)), why: "authorizers are no list" },
    { message: replaced(8, [new Uint8Array(8), new Uint8Array(8)]), why: "an authorizer is named twice" },
  ];
}

/** Messages that add no user key, or do more than that. */
function refusedAdditions(): { message: string; why: string }[] {
  const [bytes, curve] = addition(other).arguments as [string, string];
  const kelvin = addition(other).script.replaceAll("K", "\u212a");
  const args = (...given: string[]) => hexMessage(addition(other, { arguments: given }));
  const envelope = { ...addition(other), payloadSignatures: [] };
  return [
    { message: "zz", why: "not hex" },
    { message: hexMessage(greeting), why: "another script" },
    { message: hexMessage(addition(other, { script: `${addition(other).script} ` })), why: "a space after the script" },
    // Canonically equivalent texts, which Swift's == takes for the same.
    { message: hexMessage(addition(other, { script: kelvin })), why: "the sign of Kelvin in the place of a K" },
    { message: args(bytes), why: "an argument is missing" },
    { message: args(bytes, curve, curve), why: "one argument more" },
    { message: args(bytes.replace(":", ": "), curve), why: "a space in an argument" },
    { message: args(bytes.toUpperCase(), curve), why: "upper case" },
    { message: args(bytes, '{"type":"Bool","value":1}'), why: "a curve that is no Bool" },
    { message: hexMessage(addition(other, { authorizers: [] })), why: "no authorizer" },
    { message: hexMessage(addition(other, { authorizers: [ADDRESS, STRANGE] })), why: "two authorizers" },
    { message: hexMessage(addition(other, { authorizers: [STRANGE] })), why: "another account proposes" },
    { message: bytesToHex(envelopeMessage(envelope)), why: "an envelope" },
  ];
}

const SERVER_KEY = "11".repeat(64);
const OLD_KEY = "22".repeat(64);
const CHANGES: KeyChange[] = [
  { template: "add-user-key", newKey: device },
  { template: "add-user-key", newKey: other },
  { template: "add-recovery-key", serverKey: SERVER_KEY, newKey: device },
  { template: "replace-recovery-key", serverKey: SERVER_KEY, oldKey: OLD_KEY, newKey: other },
  { template: "revoke-recovery-key", serverKey: SERVER_KEY, oldKey: OLD_KEY },
  { template: "revoke-user-key", oldKey: OLD_KEY },
  { template: "rotate-server-key", oldKey: OLD_KEY, newServerKey: SERVER_KEY },
];

const ACCOUNT_ID = "0197a1b2-0000-7000-8000-000000000001";
const TWO_FACTOR_ID = "0197a1b2-0000-7000-8000-00000000000a";
const MATCHING_CODES = [
  { accountId: ACCOUNT_ID, twoFactorId: TWO_FACTOR_ID, accountKey: device, deviceKey: device },
  { accountId: ACCOUNT_ID, twoFactorId: TWO_FACTOR_ID, accountKey: device, deviceKey: publicKeyOf("EdDSA") },
  { accountId: ACCOUNT_ID.toUpperCase(), twoFactorId: TWO_FACTOR_ID, accountKey: other, deviceKey: device },
];

const SAME_CODES: [first: string, second: string, same: boolean][] = [
  ["BSRK-DM1E", "bsrk dm1e", true],
  ["BSRK-DM1E", "BSRKDMIE", true],
  ["BSRK-DM1E", "b s r k – d m l e", true],
  ["0000-1111", "OoOo IiLl", true],
  ["BSRK-DM1E", "BSRK-DM1F", false],
  ["BSRK-DM1E", "BSRK-DM1", false],
  ["", "", false],
  ["BSRK-DMUU", "BSRK-DMUU", false],
];

interface Names {
  appName: string;
  name: string;
  deviceManufacturer: string;
  deviceModel: string;
  osName: string;
  osVersion: string;
  email: string;
  ip: string;
  location: string;
}

const NAMES: Names = {
  appName: "Demo wallet",
  name: "Ada's new phone",
  deviceManufacturer: "Google",
  deviceModel: "Pixel 9",
  osName: "Android",
  osVersion: "16",
  email: "ada@example.com",
  ip: "192.0.2.7",
  location: "Vienna, Austria",
};

const SHOWN: Names[] = [
  NAMES,
  Object.fromEntries(Object.keys(NAMES).map((name) => [name, ""])) as unknown as Names,
  { ...NAMES, name: "phone” \u202e\u200b\u0007 “evil", location: "", email: "" },
  { ...NAMES, name: "🦊".repeat(70), deviceModel: "e\u0301".repeat(70), osName: "  \t a \n b  " },
];

/** Returns the part of a request that a person decides on. */
const shownTwoFactor = (names: Names): ShownTwoFactor =>
  ({
    id: TWO_FACTOR_ID,
    accountId: ACCOUNT_ID,
    request: {
      app: { appId: "demo", appName: names.appName },
      userOpInfo: { type: "sign-in", signIn: { email: names.email, ip: names.ip, location: names.location } },
      srcDevice: { ...other, ...names },
      message: hexMessage(addition(other)),
    },
  }) as unknown as ShownTwoFactor;

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

const STREAMS: { name: string; text: string; events: object[] }[] = [
  {
    name: "ids without data move the position",
    text: 'retry: 1000\n\nid: 4711\n\nid: 4712\nevent: two-factor.requested\ndata: {"id":"a"}\n\n:\n\n',
    events: [{ id: "4712", name: "two-factor.requested", data: { id: "a" } }],
  },
  {
    name: "carriage returns, data over two lines, no space after the colon",
    text: 'id:1\r\nevent:key.added\r\ndata:{"publicKey":\r\ndata: "é 🦊"}\r\n\r\n',
    events: [{ id: "1", name: "key.added", data: { publicKey: "é 🦊" } }],
  },
  {
    name: "an event of a later server, then one without an end",
    text: 'id: 2\nevent: later.event\ndata: {"new":true}\nlater: field\n\nid: 3\nevent: key.revoked\ndata: {}\n',
    events: [{ id: "2", name: "later.event", data: { new: true } }],
  },
];

/** Makes all vectors; the same at each call. */
export async function makeVectors(): Promise<object> {
  return {
    about: "Made by dev/src/native/vectors.ts from packages/keys, flow and client. Bytes are hex. Keys are for tests.",
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
    rlp: RLP_ITEMS.map((item) => ({ item: hexItem(item), bytes: bytesToHex(encodeRlp(item)) })),
    refusedRlp: REFUSED_RLP.map(([bytes, why]) => ({ bytes, why })),
    cadence: CADENCE.map((value) => ({ value, json: encodeCadence(value) })),
    transactions: TRANSACTIONS.map(([name, transaction]) => ({
      name,
      transaction: transactionJson(transaction),
      payloadMessage: hexMessage(transaction),
      envelopeMessage: bytesToHex(envelopeMessage(transaction)),
      id: transactionId(transaction),
    })),
    refusedMessages: refusedMessages(),
    templates: describeTemplates(undefined).map(({ name, script, parameters, gasLimit }) => ({
      name,
      script,
      parameters: parameters.map((each) => ({ name: each.name, type: each.type })),
      gasLimit: String(gasLimit),
    })),
    keyChanges: CHANGES.map((change) => ({ change, arguments: keyChangeArguments(change).map(encodeCadence) })),
    keyAdditions: [device, other].map((key) => {
      const message = hexMessage(addition(key));
      const { proposalKey, ...read } = readKeyAddition(message);
      const sequenceNumber = String(proposalKey.sequenceNumber);
      return { message, addition: { ...read, proposalKey: { ...proposalKey, sequenceNumber } } };
    }),
    refusedAdditions: refusedAdditions(),
    matchingCodes: await Promise.all(
      MATCHING_CODES.map(async (input) => ({ ...input, code: await matchingCode(input) })),
    ),
    sameMatchingCodes: SAME_CODES.map(([first, second, same]) => ({ first, second, same })),
    enrollments: await Promise.all(
      SHOWN.map(async (names) => {
        const { id, accountId, request } = shownTwoFactor(names);
        const { algorithm, publicKey } = other;
        return {
          id,
          accountId,
          message: request.message,
          device: { algorithm, publicKey },
          names,
          text: await describeKeyAddition(shownTwoFactor(names)),
        };
      }),
    ),
    userMessages: ["I agree", "Two\nlines\tand é 🦊"].map((text) => ({
      text,
      message: bytesToHex(userMessage(utf8(text))),
    })),
    refusedUserMessages: ["", "x".repeat(32), "x".repeat(4_097), "a\u0007b", "a\u202eb", "a\u200bb", "a\u2800b"],
    accountProofs: PROOFS.map((proof) => ({ proof, message: bytesToHex(accountProofMessage(proof)) })),
    streams: STREAMS,
  };
}

export const vectorsText = async (): Promise<string> => `${JSON.stringify(await makeVectors(), null, 2)}\n`;

if (import.meta.main) writeFileSync(VECTORS_FILE, await vectorsText());
