import { signTransaction } from "@countersign/client";
import { cadenceUFix64, encodeCadence, envelopeMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { paymentOf, type Victim } from "./victim.ts";

/** The phone signs 0.1 FLOW; on its way to the paymaster somebody makes it 20. */
export async function changedMessage(victim: Victim) {
  const { client, network, keyId } = victim;
  const signed = await signTransaction(client, await paymentOf(victim), network.chainName, keyId);
  const [, to = ""] = signed.arguments;
  const changed = { ...signed, arguments: [encodeCadence(cadenceUFix64("20.00000000")), to] };
  await client.signPaymaster(bytesToHex(envelopeMessage(changed)), network.chainName);
}
