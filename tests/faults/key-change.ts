import { type CountersignClient, signTransaction } from "@countersign/client";
import {
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
  type TransactionPayload,
} from "@countersign/flow";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { flowAddressOf } from "@countersign/testing";

/** Returns the payload of a key change, unsigned; `after` is the number of templates that run before it. */
export async function keyChangePayload(
  { chains: [chain] }: Stack,
  address: string,
  change: KeyChange,
  after: bigint,
): Promise<TransactionPayload> {
  const { accessNode, paymaster } = chain!;
  const access = createAccessApi({ baseUrl: accessNode });
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, 0)]);
  return {
    script: keyTemplateScript(change.template),
    arguments: keyChangeArguments(change).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: MAX_COMPUTATION,
    proposalKey: { address, keyId: 0, sequenceNumber: key.sequenceNumber + after },
    payer: paymaster.slice(2),
    authorizers: [address],
  };
}

/** Returns a key change with all signatures, not submitted. */
export async function signedKeyChange(
  stack: Stack,
  client: CountersignClient,
  change: KeyChange,
  after: bigint,
): Promise<FlowTransaction> {
  const address = flowAddressOf(await client.me());
  const payload = await keyChangePayload(stack, address, change, after);
  return signTransaction(client, payload, stack.chains[0]!.chainName, 1);
}
