import type { ClientNetwork } from "@countersign/client";
import { createAccessApi } from "@countersign/flow";

/** Read from the chain itself, not from the service. In FLOW. */
export async function readBalance(network: ClientNetwork, address: string): Promise<number> {
  const access = createAccessApi({ baseUrl: network.accessNode });
  return Number(await access.balance(address.replace("0x", ""))) / 1e8;
}
