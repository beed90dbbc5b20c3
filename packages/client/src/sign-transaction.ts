import {
  envelopeMessage,
  type FlowTransaction,
  payloadMessage,
  type TransactionPayload,
  type TransactionSignature,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { plainAddress } from "./chain-account.ts";
import type { CountersignClient } from "./countersign-client.ts";
import type { CompositeSignature } from "./resources.ts";
import { signMessageWith } from "./user-key.ts";

/**
 * Collects the three signatures: device and server over the payload, then the paymaster over the envelope.
 * `deviceKeyId`: the device key's index on chain, where another key proposes.
 * @example const { envelopeSignatures } = await signTransaction(client, transaction, chainName);
 */
export async function signTransaction(
  client: CountersignClient,
  payload: TransactionPayload,
  chainName: string,
  deviceKeyId: number = payload.proposalKey.keyId,
): Promise<FlowTransaction> {
  const message = payloadMessage(payload);
  const [device, server] = await Promise.all([
    signMessageWith(client.deviceKey, message),
    client.signTransaction(bytesToHex(message), chainName),
  ]);
  const { address } = payload.proposalKey;
  const payloadSignatures = [{ address, keyId: deviceKeyId, ...device }, toSignature(server)];
  const envelope = envelopeMessage({ ...payload, payloadSignatures });
  const payer = await client.signPaymaster(bytesToHex(envelope), chainName);
  return { ...payload, payloadSignatures, envelopeSignatures: [toSignature(payer)] };
}

const toSignature = ({ addr, keyId, signature }: CompositeSignature): TransactionSignature => ({
  address: plainAddress(addr),
  keyId,
  signature,
});
