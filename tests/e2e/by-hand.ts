import { join } from "node:path";
import {
  type CadenceValue,
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
  payloadMessage,
  type TransactionResult,
} from "@countersign/flow";
import { withEnvelopeSignature } from "@countersign/flow/node";
import { bytesToHex } from "@countersign/keys";
import { ensureServiceKey, serviceAddress } from "@countersign/local-stack/emulator.ts";
import { readTrimmed } from "@countersign/local-stack/secrets.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { createKeystoreVault, readKeystore, type Vault } from "../../services/signer/src/vault/index.ts";

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

const vaults = new Map<string, Vault>();

/** Opens the signer's keystore, to sign what the signer would refuse. */
function vaultOf({ stateDir }: OpenStack): Vault {
  const keyFile = (name: string) => join(stateDir, "keys", name);
  const open = () => readKeystore(keyFile("signer-keystore.json"), readTrimmed(keyFile("signer-keystore.passphrase")));
  const vault = vaults.get(stateDir) ?? createKeystoreVault(open());
  vaults.set(stateDir, vault);
  return vault;
}

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
  const message = payloadMessage(unsigned);
  const { chainName, stateDir } = stack;
  const serverKey = { role: "server", chainName, accountId: owner.accountId, version: 1 } as const;
  const payloadSignatures = [
    { address, keyId: 1, signature: bytesToHex(await owner.deviceKey.sign(message)) },
    { address, keyId: 0, signature: bytesToHex(await vaultOf(stack).sign(serverKey, message)) },
  ];
  // The emulator's service account pays for transactions that the product does not pay.
  const { signer: payer } = new ServiceAccount(stack.accessNode, ensureServiceKey(stateDir));
  const signed = withEnvelopeSignature({ ...unsigned, payloadSignatures }, payer);
  const id = await access.submit(signed);
  return { id, result: await access.waitForSeal(id, { signal: AbortSignal.timeout(SEAL_MS) }) };
}
