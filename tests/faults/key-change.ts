import { type CountersignClient, signTransaction } from "@countersign/client";
import type { Stack } from "@countersign/dev/stack-file.ts";
import {
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
} from "@countersign/flow";

/** A template, signed by everybody and not sent; `after`: how many others run before it. */
export async function signedKeyChange(
  stack: Stack,
  client: CountersignClient,
  change: KeyChange,
  after: bigint,
): Promise<FlowTransaction> {
  const chain = stack.chains[0]!;
  const access = createAccessApi({ baseUrl: chain.accessNode });
  const { addresses } = await client.me();
  const address = addresses.find(({ chainType }) => chainType === "cadence")!.address.slice(2);
  const [block, keys] = await Promise.all([access.latestSealedBlock(), access.accountKeys(address)]);
  const payload = {
    script: keyTemplateScript(change.template),
    arguments: keyChangeArguments(change).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: MAX_COMPUTATION,
    proposalKey: { address, keyId: 0, sequenceNumber: keys[0]!.sequenceNumber + after },
    payer: chain.paymaster.slice(2),
    authorizers: [address],
  };
  return signTransaction(client, payload, chain.chainName, 1);
}
