import { MAX_COMPUTATION, type ParentLinkTemplateName, parentLinkArguments, parentLinkScript } from "@countersign/flow";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendTransactionOptions, type SentTransaction, sendTransaction } from "./send-transaction.ts";

export interface SendParentLinkOptions
  extends Pick<SendTransactionOptions, "network" | "address" | "onSubmitted" | "signal" | "accessApi"> {
  /** The child publishes and removes, the parent claims. */
  template: ParentLinkTemplateName;
  /** The other account: the parent for the child, the child for the parent. With or without 0x. */
  other: string;
}

/**
 * Offers, claims or removes a link between this account and another one, by one of the service's templates.
 * Report it with `client.linkParent()` afterwards, as the child. Errors: as `sendTransaction`.
 */
export function sendParentLink(
  client: CountersignClient,
  { template, other, ...options }: SendParentLinkOptions,
): Promise<SentTransaction> {
  const address = other.replace(/^0x/i, "").toLowerCase();
  return sendTransaction(client, {
    ...options,
    cadence: parentLinkScript(template),
    args: parentLinkArguments({ template, other: address }),
    gasLimit: MAX_COMPUTATION,
    proposer: "server",
  });
}
