import {
  encodeCadence,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
  payloadMessage,
  type TransactionPayload,
  transactionId,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { z } from "zod";
import { query } from "../../../security/token-forge.ts";
import { access, chain, chainName, type Person, signUpPerson, tokenOf } from "../../../support/person.ts";
import { exchange } from "../exchange.ts";
import { accountIdOf, once, undeployed } from "../people.ts";
import { hex, txId } from "../resources.ts";
import { type Rows, seenIn, unprovoked, WITHIN_LIMIT } from "../rows.ts";

const owner = once(signUpPerson);
const newServerKey = "ab".repeat(64);

/** Returns a rotation of the person's server key, to a key that nobody asked for. */
async function rotationOf({ address }: Person): Promise<TransactionPayload> {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 0)]);
  return {
    script: keyTemplateScript("rotate-server-key"),
    arguments: keyChangeArguments({
      template: "rotate-server-key",
      oldKey: key.publicKey,
      newServerKey,
    }).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: MAX_COMPUTATION,
    proposalKey: { address, keyId: 0, sequenceNumber: key.sequenceNumber },
    payer: chain.paymaster.replace("0x", ""),
    authorizers: [address],
  };
}

const post = (token: string, payload: TransactionPayload | undefined, on: string = chainName) => {
  const message = payload ? bytesToHex(payloadMessage(payload)) : "00".repeat(40);
  return exchange("rotateServerKey", { token, body: { chainName: on, message, signature: "ab".repeat(64) } });
};

/** JSON with integers as text, as the account service stores transactions. */
const storedJson = (value: object): string =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));

/** Replays a rotation as if it had been done: the operator of this stack wants no other version. */
async function replayed() {
  const person = await owner();
  const payload = await rotationOf(person);
  const transaction = { ...payload, payloadSignatures: [], envelopeSignatures: [] };
  await query(
    "account",
    `INSERT INTO server_key_rotation
       (account_id, chain_name, version, new_key, state, transaction, transaction_id, reference_height, created_at)
     VALUES ($1, $2, 2, $3, 'sealed', $4, $5, 1, now())`,
    [accountIdOf(person), chainName, newServerKey, storedJson(transaction), transactionId(transaction)],
  );
  const answer = await post(tokenOf(person), payload);
  await query("account", "DELETE FROM server_key_rotation WHERE account_id = $1", [accountIdOf(person)]);
  return answer;
}

const CHAIN_UNAVAILABLE = seenIn("services/device/src/domain/two-factor/open-two-factor.test.ts");

export const serverKeys: Rows = {
  listServerKeyRotations: {
    success: async () => exchange("listServerKeyRotations", { token: tokenOf(await owner()) }),
    answer: z.strictObject({ rotations: z.array(z.strictObject({ chainName: z.string(), message: hex })) }),
    codes: {
      AccountNotReady: unprovoked("an account whose chain shows no server key of ours any more"),
      ChainUnavailable: CHAIN_UNAVAILABLE,
      RateLimited: WITHIN_LIMIT,
    },
    besides: "docs/keys.md",
  },
  rotateServerKey: {
    success: replayed,
    answer: z.strictObject({
      transaction: z.strictObject({ id: txId, chainName: z.string(), refUrl: z.url() }),
      done: z.boolean(),
    }),
    codes: {
      InvalidMessage: async () => post(tokenOf(await owner()), undefined),
      InvalidSignature: seenIn("services/account/src/domain/server-keys/server-key-rotation.test.ts"),
      UnknownChain: async () => post(tokenOf(await owner()), undefined, "nowhere"),
      MessageRenewed: async () => post(tokenOf(await owner()), await rotationOf(await signUpPerson())),
      SigningRefused: unprovoked("the signer refuses only what the account service has refused before"),
      AccountNotReady: async () => post((await undeployed()).token, undefined),
      AccountFrozen: unprovoked("the signer's answer, as to signTransaction, once another version is wanted"),
      SignerNotCurrent: seenIn("packages/access-tokens/src/verifier.test.ts"),
      ChainUnavailable: CHAIN_UNAVAILABLE,
    },
    hostile: {
      answers: ["InvalidMessage"],
      sample: () => ({
        body: { chainName, message: "00".repeat(40), signature: "ab".repeat(64), extensionData: "ab" },
      }),
    },
    besides: "docs/keys.md",
  },
};
