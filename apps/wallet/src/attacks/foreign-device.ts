import { memoryKeyStore, signMessageWith, signTransaction } from "@countersign/client";
import { envelopeMessage, payloadMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { paymentOf, type Victim } from "./victim.ts";

/** Another device signs, and its signature is passed off as this phone's. */
export async function foreignDevice(victim: Victim) {
  const { client, network, keyId } = victim;
  const payload = await paymentOf(victim);
  const signed = await signTransaction(client, payload, network.chainName, keyId);
  const forged = await signMessageWith(await memoryKeyStore().create(), payloadMessage(payload));
  const payloadSignatures = signed.payloadSignatures.map(({ extensionData: _, ...each }) =>
    each.keyId === keyId ? { ...each, ...forged } : each,
  );
  await client.signPaymaster(bytesToHex(envelopeMessage({ ...signed, payloadSignatures })), network.chainName);
}
