import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serviceAddress } from "@countersign/dev/emulator.ts";
import { readTrimmed } from "@countersign/dev/secrets.ts";
import {
  type CadenceValue,
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
  payloadMessage,
  type TransactionResult,
} from "@countersign/flow";
import { type ChainSigner, withEnvelopeSignature, withPayloadSignature } from "@countersign/flow/node";
import { bytesToHex } from "@countersign/keys";
import { readKeystore } from "../../services/signer/src/vault/keystore-file.ts";
import { p256PrivateKey } from "../../services/signer/src/vault/p256.ts";
import { deriveServerScalar } from "../../services/signer/src/vault/server-key.ts";
import { stateDir } from "../security/secrets.ts";
import { chain, chainName, type Person } from "./person.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });
const keyFile = (name: string) => join(stateDir, "keys", name);
const SEAL_MS = 20_000;

let rootSecret: Buffer | undefined;

/** An account's server key, taken from where the signer keeps it: for transactions that the signer would never sign. */
function serverKeyOf({ signedUp, address }: Person): ChainSigner {
  if (!rootSecret) {
    const passphrase = readFileSync(keyFile("signer-keystore.passphrase"), "utf8").trim();
    rootSecret = Buffer.from(readKeystore(keyFile("signer-keystore.json"), passphrase).rootSecret, "hex");
  }
  const scalar = deriveServerScalar(rootSecret, chainName, signedUp.account.id, 1);
  return { address, keyId: 0, privateKey: p256PrivateKey(scalar), hash: "sha3-256" };
}

/** The emulator's service account, which pays for what is not the product's to pay. */
const service = (): ChainSigner => ({
  address: serviceAddress,
  keyId: 0,
  privateKey: p256PrivateKey(Buffer.from(readTrimmed(keyFile("flow-service.key")), "hex")),
  hash: "sha3-256",
});

/**
 * Runs a script with an account's full weight and without asking anybody: its device proposes and signs, so does its server key, and the emulator's
 * service account pays.
 */
export async function runAsOwner(
  person: Person,
  script: string,
  args: readonly CadenceValue[] = [],
): Promise<{ id: string; result: TransactionResult }> {
  const { address } = person;
  const [block, device] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 1)]);
  const unsigned: FlowTransaction = {
    script,
    arguments: args.map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: 9999n,
    proposalKey: { address, keyId: 1, sequenceNumber: device.sequenceNumber },
    payer: serviceAddress,
    authorizers: [address],
    payloadSignatures: [],
    envelopeSignatures: [],
  };
  const signature = bytesToHex(await person.deviceKey.sign(payloadMessage(unsigned)));
  const byDevice = { ...unsigned, payloadSignatures: [{ address, keyId: 1, signature }] };
  const signed = withEnvelopeSignature(withPayloadSignature(byDevice, serverKeyOf(person)), service());
  const id = await access.submit(signed);
  return { id, result: await access.waitForSeal(id, { signal: AbortSignal.timeout(SEAL_MS) }) };
}
