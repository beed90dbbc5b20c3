import { payloadMessage } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { paymentOf, plain, type Victim } from "./victim.ts";

/** With this phone's session, the server shall sign for an account that is not its own. */
export async function foreignAccount(victim: Victim) {
  const { client, network } = victim;
  const payload = await paymentOf(victim, { authorizers: [plain(network.paymaster).replace(/.$/, "0")] });
  await client.signTransaction(bytesToHex(payloadMessage(payload)), network.chainName);
}
