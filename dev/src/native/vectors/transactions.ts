import { twinIds } from "@countersign/client";
import {
  addUserKeyPayload,
  cadenceString,
  encodeCadence,
  encodeRlp,
  envelopeMessage,
  type FlowTransaction,
  payloadMessage,
  type RlpItem,
  type TransactionPayload,
  transactionId,
  userMessage,
} from "@countersign/flow";
import { bytesToHex, type PublicKey } from "@countersign/keys";
import { ADDRESS, other, PAYMASTER, sign, utf8 } from "./test-keys.ts";

const GREETING = `transaction(text: String) {
  prepare(account: auth(SaveValue) &Account) {
    account.storage.save(text, to: /storage/greeting)
  }
}`;

export const greeting: TransactionPayload = {
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
export function signed(payload: TransactionPayload): FlowTransaction {
  const message = payloadMessage(payload);
  const [account] = payload.authorizers;
  // Out of order on purpose: the encoding sorts them.
  const payloadSignatures = [signature(account!, 1, message), signature(account!, 0, message)];
  const envelope = envelopeMessage({ ...payload, payloadSignatures });
  return { ...payload, payloadSignatures, envelopeSignatures: [signature(payload.payer, 3, envelope)] };
}

export const addition = (userKey: PublicKey, change: Partial<TransactionPayload> = {}): TransactionPayload => ({
  ...addUserKeyPayload(userKey, {
    account: ADDRESS,
    referenceBlockId: "cd".repeat(32),
    proposalKey: { address: ADDRESS, keyId: 0, sequenceNumber: 300n },
    payer: PAYMASTER,
  }),
  ...change,
});

const paidBy = (signature: string): FlowTransaction => ({
  ...signed(greeting),
  envelopeSignatures: [{ address: PAYMASTER, keyId: 3, signature }],
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
    "a payer's signature whose other form has zeros",
    paidBy(`${"5a".repeat(32)}ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550`),
  ],
  ["a payer's signature of secp256k1 alone", paidBy(`${"5a".repeat(32)}ffffffff01${"00".repeat(27)}`)],
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

export const hexMessage = (payload: TransactionPayload): string => bytesToHex(payloadMessage(payload));

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

/** Returns the vectors of transactions: what is signed, ids, and messages that are none. */
export const transactionVectors = () => ({
  transactions: TRANSACTIONS.map(([name, transaction]) => ({
    name,
    transaction: transactionJson(transaction),
    payloadMessage: hexMessage(transaction),
    envelopeMessage: bytesToHex(envelopeMessage(transaction)),
    id: transactionId(transaction),
    twinIds: twinIds(transaction),
  })),
  refusedMessages: refusedMessages(),
});
