import { bytesToHex } from "@countersign/keys";
import fc from "fast-check";
import { type FlowTransaction, signerList } from "../codec/transaction.ts";

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(bytesToHex);
const keyIds = fc.oneof(fc.constantFrom(0, 1, 127, 128, 255, 256, 0xffff_ffff), fc.nat(70_000));
// Flow's own library counts in doubles.
const integers = fc.oneof(
  fc.constantFrom(0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 9999n),
  fc.bigInt({ min: 0n, max: 2n ** 53n - 1n }),
);
const cadenceArguments = fc
  .oneof(
    fc.string({ unit: "grapheme", maxLength: 70 }).map((value) => ({ type: "String", value })),
    fc.constantFrom<unknown>(null, true, 0, "", [], {}),
    fc.array(hex(8), { maxLength: 4 }).map((all) => ({
      type: "Array",
      value: all.map((address) => ({ type: "Address", value: `0x${address}` })),
    })),
  )
  .map((value) => JSON.stringify(value));

/** Parts of a transaction: signers are counted, not named, so that roles coincide and several sign. */
const parts = fc.record({
  script: fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 200 }),
    fc.string({ unit: "binary", maxLength: 80 }).filter((text) => text.isWellFormed()),
    fc.constantFrom(
      "",
      "\u0000",
      "\u007f",
      "\u0080",
      "\ufefftransaction {}",
      "x".repeat(55),
      "x".repeat(56),
      "é".repeat(200),
    ),
  ),
  arguments: fc.array(cadenceArguments, { maxLength: 4 }),
  referenceBlockId: hex(32),
  gasLimit: integers,
  accounts: fc.uniqueArray(hex(8), { minLength: 5, maxLength: 5 }),
  proposer: fc.record({ at: fc.nat(4), keyId: keyIds, sequenceNumber: integers }),
  payer: fc.nat(4),
  authorizers: fc.uniqueArray(fc.nat(4), { maxLength: 5 }),
  signatures: fc.uniqueArray(
    fc.record({
      at: fc.nat(6),
      keyId: keyIds,
      signature: hex(64),
      extension: fc.option(
        fc.uint8Array({ minLength: 1, maxLength: 90 }).map((bytes) => bytesToHex(bytes)),
        { nil: undefined },
      ),
    }),
    { maxLength: 6, selector: ({ at, keyId }) => `${at}:${keyId}` },
  ),
});

/**
 * Transactions of every shape that Flow's own library can encode too; signatures are in no particular order.
 */
export const transactions: fc.Arbitrary<FlowTransaction> = parts.map((made) => {
  const account = (at: number): string => made.accounts[at]!;
  const payload = {
    script: made.script,
    arguments: made.arguments,
    referenceBlockId: made.referenceBlockId,
    gasLimit: made.gasLimit,
    proposalKey: {
      address: account(made.proposer.at),
      keyId: made.proposer.keyId,
      sequenceNumber: made.proposer.sequenceNumber,
    },
    payer: account(made.payer),
    authorizers: made.authorizers.map(account),
  };
  const signers = signerList(payload);
  const payloadSignatures = made.signatures
    .filter(({ at }) => at < signers.length)
    .map(({ at, keyId, signature, extension }) => ({
      address: signers[at]!,
      keyId,
      signature,
      ...(extension === undefined ? {} : { extensionData: extension }),
    }));
  return { ...payload, payloadSignatures, envelopeSignatures: [] };
});

/** Returns the same transaction as Flow's own library wants it. */
export const sdkTransactionOf = (tx: FlowTransaction) => ({
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
  payloadSigs: tx.payloadSignatures.map(({ address, keyId, signature, extensionData }) => ({
    address,
    keyId,
    sig: signature,
    ...(extensionData === undefined ? {} : { extensionData }),
  })),
});
