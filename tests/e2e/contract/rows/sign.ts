import {
  accountProofMessage,
  envelopeMessage,
  payloadMessage,
  type TransactionPayload,
  type TransactionSignature,
  userMessage,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { z } from "zod";
import { query } from "../../../security/token-forge.ts";
import { access, chain, chainName, type Person, signUpPerson, tokenOf } from "../../../support/person.ts";
import { nobodysToken } from "../common-codes.ts";
import { exchange } from "../exchange.ts";
import { accountIdOf, once } from "../people.ts";
import { signature, template } from "../resources.ts";
import { type Row, type Rows, seenIn } from "../rows.ts";

/** Refused when the transaction's signature is requested, which comes before the paymaster's. */
const AFTER_THE_TRANSACTION = seenIn("services/signer/src/domain/time-locks.test.ts");
const RECOVERY = seenIn("tests/e2e/recovery.test.ts");
const owner = once(signUpPerson);
const otherPerson = once(signUpPerson);
const frozen = once(async () => {
  const person = await signUpPerson();
  await exchange("freezeAccount", { token: tokenOf(person) });
  return person;
});

async function payloadOf({ address }: Person): Promise<TransactionPayload> {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 1)]);
  return {
    script: "transaction { prepare(a: &Account) {} }",
    arguments: [],
    referenceBlockId: block.id,
    gasLimit: 100n,
    proposalKey: { address, keyId: 1, sequenceNumber: key.sequenceNumber },
    payer: chain.paymaster.replace("0x", ""),
    authorizers: [address],
  };
}

/** Builds the message of each operation: the payload, or the envelope once the user has signed that. */
const messageOf = {
  signTransaction: async (person: Person) => payloadMessage(await payloadOf(person)),
  signPaymaster: async (person: Person) => {
    const payload = await payloadOf(person);
    const signature = bytesToHex(await person.deviceKey.sign(payloadMessage(payload)));
    const payloadSignatures: TransactionSignature[] = [{ address: person.address, keyId: 1, signature }];
    return envelopeMessage({ ...payload, payloadSignatures });
  },
};

interface Change {
  token?: string;
  body?: object;
}
/** Sends a good request in a person's name, but for this change. */
type Sign = (of: Person, change?: Change) => ReturnType<typeof exchange>;

/** Returns the row of an operation that signs, with the errors that all of them have. */
const signingRow = (sign: Sign, addr: () => Promise<string>, ownCodes: Row["codes"]): Row => {
  return {
    success: async () => {
      const answer = await sign(await owner());
      // Both keys are the service's own, and each is on its own account.
      z.literal(await addr()).parse(answer.body.signature?.addr);
      return answer;
    },
    answer: z.strictObject({ signature }),
    codes: {
      UnknownChain: async () => sign(await owner(), { body: { chainName: "nowhere" } }),
      SigningRefused: async () => sign(await otherPerson(), { token: tokenOf(await owner()) }),
      AccountNotReady: async () => sign(await otherPerson(), { token: await nobodysToken() }),
      AccountFrozen: async () => {
        const person = await frozen();
        // The signer learns of it by a stream.
        for (let tries = 0; ; tries++) {
          const answer = await sign(person);
          if (answer.status !== 200 || tries > 50) return answer;
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
      },
      RateLimited: async () => {
        const person = await signUpPerson();
        await query(
          "signer",
          `INSERT INTO signature_count (account_id, minute, count)
           SELECT left(encode(sha256($1), 'hex'), 32)::uuid, date_trunc('minute', now()) + minutes * interval '1 minute', 1000000
           FROM generate_series(0, 1) AS minutes`,
          [Buffer.from(`${accountIdOf(person)}/${person.deviceKey.publicKey}`)],
        );
        return sign(person);
      },
      SignerNotCurrent: seenIn("packages/access-tokens/src/verifier.test.ts"),
      ...ownCodes,
    },
  };
};

const transactionRow = (operationId: keyof typeof messageOf, addr: () => Promise<string>, codes: Row["codes"]): Row => {
  const sign: Sign = async (of, { token = tokenOf(of), body } = {}) => {
    const message = `0x${bytesToHex(await messageOf[operationId](of)).toUpperCase()}`;
    return exchange(operationId, { token, body: { message, ...body } });
  };
  return {
    ...signingRow(sign, addr, {
      InvalidMessage: async () => sign(await owner(), { body: { message: "00".repeat(40) } }),
      MessageRenewed: seenIn("services/signer/src/policy/rotation.test.ts"),
      TimeLockRequired: RECOVERY,
      ...codes,
    }),
    hostile: {
      answers: ["InvalidMessage"],
      sample: () => ({ body: { message: "00".repeat(40), chainName } }),
    },
  };
};

const nonce = "75".repeat(32);
const appIdentifier = "https://dapp.example";
/** The bytes that the user signs for each operation, and what the request says of them. */
const statementOf = {
  signUserMessage: () => ({ signed: userMessage(Buffer.from("I agree")), body: { message: "49206167726565" } }),
  signAccountProof: ({ address }: Person) => ({
    signed: accountProofMessage({ appIdentifier, address, nonce }),
    body: { appIdentifier, nonce },
  }),
};

const userMessageRow = (operationId: keyof typeof statementOf, unreadable: object): Row => {
  const sign: Sign = async (of, { token = tokenOf(of), body } = {}) => {
    const statement = statementOf[operationId](of);
    const signature = bytesToHex(await of.deviceKey.sign(statement.signed));
    return exchange(operationId, { token, body: { ...statement.body, address: of.address, signature, ...body } });
  };
  const sample = { address: "0x01cf0e2f2f715450", signature: "ab".repeat(64), chainName };
  return {
    ...signingRow(sign, async () => `0x${(await owner()).address}`, {
      InvalidMessage: async () => sign(await owner(), { body: unreadable }),
    }),
    besides: "docs/fcl.md",
    hostile: {
      answers: ["InvalidMessage"],
      sample: () => ({ body: { ...unreadable, ...sample } }),
    },
  };
};

export const sign: Rows = {
  listTemplates: {
    success: async () => exchange("listTemplates", { token: tokenOf(await owner()) }),
    answer: z.strictObject({ templates: z.array(template).min(9) }),
    codes: {
      InvalidRequest: async () =>
        exchange("listTemplates", { token: tokenOf(await owner()), query: `?chainName=${"x".repeat(65)}` }),
      UnknownChain: async () =>
        exchange("listTemplates", { token: tokenOf(await owner()), query: "?chainName=nowhere" }),
    },
  },
  signTransaction: transactionRow("signTransaction", async () => `0x${(await owner()).address}`, {
    LoginTooOld: RECOVERY,
    TimeLockCancelled: RECOVERY,
  }),
  signPaymaster: transactionRow("signPaymaster", async () => chain.paymaster, {
    LoginTooOld: AFTER_THE_TRANSACTION,
    TimeLockCancelled: AFTER_THE_TRANSACTION,
  }),
  signUserMessage: userMessageRow("signUserMessage", { message: "ff" }),
  signAccountProof: userMessageRow("signAccountProof", { appIdentifier: "two\nlines", nonce }),
};
