import { readFileSync } from "node:fs";
import { join } from "node:path";
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
import { serviceAddress } from "@countersign/local-stack/emulator.ts";
import { readTrimmed } from "@countersign/local-stack/secrets.ts";
import { readKeystore } from "../../services/signer/src/vault/keystore-file.ts";
import { p256PrivateKey } from "../../services/signer/src/vault/p256.ts";
import { deriveServerScalar } from "../../services/signer/src/vault/server-key.ts";

const SEAL_MS = 20_000;

/** A stack whose keys the tests can read. */
export interface OpenStack {
  readonly chainName: string;
  readonly accessNode: string;
  /** Absolute. */
  readonly stateDir: string;
}

/** An account and its first device. */
export interface Owner {
  readonly accountId: string;
  /** 16 hex digits. */
  readonly address: string;
  readonly deviceKey: { sign(message: Uint8Array): Promise<Uint8Array> };
}

const keyFile = ({ stateDir }: OpenStack, name: string) => join(stateDir, "keys", name);
const rootSecrets = new Map<string, Buffer>();

/** Returns an account's server key from the signer's keystore, to sign what the signer would refuse. */
function serverKeyOf(stack: OpenStack, { accountId, address }: Owner): ChainSigner {
  let rootSecret = rootSecrets.get(stack.stateDir);
  if (!rootSecret) {
    const passphrase = readFileSync(keyFile(stack, "signer-keystore.passphrase"), "utf8").trim();
    rootSecret = Buffer.from(readKeystore(keyFile(stack, "signer-keystore.json"), passphrase).rootSecret, "hex");
    rootSecrets.set(stack.stateDir, rootSecret);
  }
  const scalar = deriveServerScalar(rootSecret, stack.chainName, accountId, 1);
  return { address, keyId: 0, privateKey: p256PrivateKey(scalar), hash: "sha3-256" };
}

/** The emulator's service account, which pays for transactions that the product does not pay. */
const service = (stack: OpenStack): ChainSigner => ({
  address: serviceAddress,
  keyId: 0,
  privateKey: p256PrivateKey(Buffer.from(readTrimmed(keyFile(stack, "flow-service.key")), "hex")),
  hash: "sha3-256",
});

/**
 * Runs a script with an account's full weight and without the services: its device proposes and signs, its
 * server key signs, and the emulator's service account pays.
 */
export async function runByHand(
  stack: OpenStack,
  owner: Owner,
  script: string,
  args: readonly CadenceValue[] = [],
): Promise<{ id: string; result: TransactionResult }> {
  const access = createAccessApi({ baseUrl: stack.accessNode });
  const { address } = owner;
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
  const signature = bytesToHex(await owner.deviceKey.sign(payloadMessage(unsigned)));
  const byDevice = { ...unsigned, payloadSignatures: [{ address, keyId: 1, signature }] };
  const signed = withEnvelopeSignature(withPayloadSignature(byDevice, serverKeyOf(stack, owner)), service(stack));
  const id = await access.submit(signed);
  return { id, result: await access.waitForSeal(id, { signal: AbortSignal.timeout(SEAL_MS) }) };
}
