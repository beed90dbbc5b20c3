import { Failure } from "@countersign/build/fail.ts";
import {
  type AccessApi,
  type CadenceValue,
  type ChainEvent,
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
} from "@countersign/flow";
import { type ChainSigner, withEnvelopeSignature } from "@countersign/flow/node";
import { privateKeyOf } from "@countersign/keys/node";
import { serviceAddress } from "./emulator.ts";

const computeLimit = 9999n;
const sealWithinMs = 30_000;

/**
 * The emulator's service account as proposer, payer and authorizer at once: its envelope signature is
 * sufficient.
 */
export class ServiceAccount {
  readonly access: AccessApi;
  readonly signer: ChainSigner;

  constructor(accessNode: string, scalar: string) {
    this.access = createAccessApi({ baseUrl: accessNode });
    this.signer = { address: serviceAddress, keyId: 0, privateKey: privateKeyOf(scalar), hash: "sha3-256" };
  }

  /** Sends a transaction and returns its events once it is sealed. Errors: Failure if the chain refuses. */
  async run(script: string, args: CadenceValue[]): Promise<readonly ChainEvent[]> {
    const [block, key] = await Promise.all([
      this.access.latestSealedBlock(),
      this.access.accountKey(serviceAddress, 0),
    ]);
    const transaction: FlowTransaction = {
      script,
      arguments: args.map(encodeCadence),
      referenceBlockId: block.id,
      gasLimit: computeLimit,
      proposalKey: { address: serviceAddress, keyId: 0, sequenceNumber: key.sequenceNumber },
      payer: serviceAddress,
      authorizers: [serviceAddress],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    const id = await this.access.submit(withEnvelopeSignature(transaction, this.signer));
    const result = await this.access.waitForSeal(id, { signal: AbortSignal.timeout(sealWithinMs) });
    if (result.errorMessage) throw new Failure(`a transaction of the set-up failed: ${result.errorMessage}`);
    return result.events;
  }
}
