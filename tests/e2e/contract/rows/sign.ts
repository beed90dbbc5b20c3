import { envelopeMessage, payloadMessage, type TransactionPayload, type TransactionSignature } from "@countersign/flow";
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

const rowOf = (operationId: keyof typeof messageOf, addr: () => Promise<string>, ownCodes: Row["codes"]): Row => {
  const sign = async (of: Person, change: { token?: string; body?: object } = {}) => {
    const message = `0x${bytesToHex(await messageOf[operationId](of)).toUpperCase()}`;
    return exchange(operationId, { token: change.token ?? tokenOf(of), body: { message, ...change.body } });
  };
  return {
    success: async () => {
      const answer = await sign(await owner());
      // Both keys are the service's own, and each is on its own account.
      z.literal(await addr()).parse(answer.body.signature?.addr);
      return answer;
    },
    answer: z.strictObject({ signature }),
    codes: {
      InvalidMessage: async () => sign(await owner(), { body: { message: "00".repeat(40) } }),
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
           SELECT $1, date_trunc('minute', now()) + minutes * interval '1 minute', 1000000 FROM generate_series(0, 1) AS minutes
           ON CONFLICT (account_id, minute) DO UPDATE SET count = 1000000`,
          [accountIdOf(person)],
        );
        return sign(person);
      },
      SignerNotCurrent: seenIn("packages/access-tokens/src/verifier.test.ts"),
      MessageRenewed: seenIn("services/signer/src/policy/rotation.test.ts"),
      TimeLockRequired: RECOVERY,
      ...ownCodes,
    },
    hostile: {
      answers: ["InvalidMessage"],
      sample: () => ({ body: { message: "00".repeat(40), chainName } }),
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
  signTransaction: rowOf("signTransaction", async () => `0x${(await owner()).address}`, {
    LoginTooOld: RECOVERY,
    TimeLockCancelled: RECOVERY,
  }),
  signPaymaster: rowOf("signPaymaster", async () => chain.paymaster, {
    LoginTooOld: AFTER_THE_TRANSACTION,
    TimeLockCancelled: AFTER_THE_TRANSACTION,
  }),
};
