import type { ClientNetwork } from "@countersign/client";
import { createAccessApi } from "@countersign/flow";

/** The transaction as the chain has it, with its result and its block. */
export async function readTransaction(network: ClientNetwork, id: string) {
  const access = createAccessApi({ baseUrl: network.accessNode });
  const [transaction, result] = await Promise.all([access.transaction(id), access.transactionResult(id)]);
  const block = result && (await access.block(result.blockId));
  return { transaction, result, block };
}
